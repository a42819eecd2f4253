# Part of the bppsa project, under the MIT License.
"""Converts the declarations of a C header to Markdown with blocks of Sphinx's C domain.

The headers of include/bppsa-c are regular: comments of declarations begin with `/**` in the first
column, and titles of sections are framed comments.
"""

import re

COMMENT = re.compile(r"^(/\*.*?\*/)\n", re.M | re.S)
TITLE = re.compile(r"/\*===-+===\*\\\n\|\* (.*?) *\*\|\n")
PREPROCESSOR = re.compile(r"^(#.*|extern \"C\" \{|struct \w+;|\})$", re.M)
COMPOSITE = re.compile(r"typedef (struct|enum) \w+ \{(.*)\} (\w+);", re.S)
MEMBER = re.compile(r"/\*\*(.*?)\*/|([^/]+?)[;,]?(?=\s*/\*\*|\s*\Z)", re.S)


def convert_header(text):
    """Returns Markdown for the declarations of a header, section by section."""
    result, comment = [], ""
    for part in COMMENT.split(text)[2:]:
        if title := TITLE.match(part):
            result += [f"### {title[1]}", ""]
        elif part.startswith("/**"):
            comment = clean_comment(part)
        elif part.startswith("/*"):
            result += [clean_comment(part), ""]
        else:
            for code in re.split(r"\n\s*\n", PREPROCESSOR.sub("", part)):
                if code.strip():
                    result += ["```{eval-rst}", *convert_declaration(code, comment), "```", ""]
                    comment = ""
    return "\n".join(result)


def clean_comment(text):
    lines = re.sub(r"^/\*+|\*/$", "", text).split("\n")
    return "\n".join(re.sub(r"^\s*\* ?", "", line).strip() for line in lines).strip()


def convert_declaration(code, comment):
    composite = COMPOSITE.search(code)
    if composite:
        kind, body, name = composite.groups()
        yield from directive(f"c:{kind}", [name], comment)
        for member in convert_members(kind, body):
            yield f"   {member}" if member else ""
        return
    code = code.replace("BPPSA_CAPI_EXPORTED ", "")
    declared = [" ".join(declaration.split()) for declaration in code.split(";")]
    declared = [declaration for declaration in declared if declaration]
    kind = "c:type" if declared[0].startswith("typedef ") else "c:function"
    yield from directive(kind, [text.removeprefix("typedef ") for text in declared], comment)


def convert_members(kind, body):
    """Converts the members of a struct, or the enumerators of an enum."""
    for members, comment in find_members(body, ";" if kind == "struct" else ","):
        if kind == "struct":
            yield from directive("c:member", members, comment)
        else:
            name, _, value = members[0].partition(" = ")
            yield from directive("c:enumerator", [name], f"{value}: {comment}" if comment else value)


def find_members(body, separator):
    """Yields the names that one declaration of a composite type declares, and its comment."""
    comment = ""
    for part in re.split(r"(/\*\*.*?\*/)", body, flags=re.S):
        if part.startswith("/**"):
            comment = clean_comment(part)
            continue
        for declaration in part.split(separator):
            words = " ".join(declaration.split())
            if words:
                yield split_names(words), comment
                comment = ""


def split_names(declaration):
    """`const char *name, *value` declares `const char *name` and `const char *value`."""
    first, *others = declaration.split(", ")
    base = re.match(r"(?:const )?\w+ ", declaration)
    return [first, *(f"{base[0]}{name}" for name in others)]


def directive(name, signatures, comment):
    """Yields the lines of a reStructuredText directive."""
    indent = " " * len(f".. {name}:: ")
    yield f".. {name}:: {signatures[0]}"
    yield from (indent + signature for signature in signatures[1:])
    yield ""
    comment = re.sub(r"`([^`]+)`", r"``\1``", comment)
    comment = re.sub(r"\bdocs/([\w/]+)\.md\b", r":doc:`/\1`", comment)
    for line in comment.split("\n"):
        yield f"   {line}" if line else ""
    yield ""
