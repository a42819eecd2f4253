# Part of the bppsa project, under the MIT License.
"""Adapts the relative links of Markdown files to the site.

* A page that consists of a `{repository-page}` block shows a Markdown file from outside docs.
* Links to files that are not pages go to a repository URL, or become plain text if it is empty.
* Labels that are file names, such as `Compiler.md`, become titles of pages.
* Paths of pages in the text, such as `docs/Guides/Streams.md`, become links.
"""

import os
import re

FENCE = re.compile(r" {0,3}(```+|~~~+|:::+)")
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^()\s]+)\)")
PAGE_PATH = r"docs/[\w/]+\.md\b"
CONVERTED = re.compile(
    rf"(?P<path>(?<![\w/]){PAGE_PATH}|(?<!`)`{PAGE_PATH}`(?!`))"
    rf"|(?P<code>(`+)(?:(?!\3).)*?\3(?!\]\())|{LINK.pattern}"
)
FILE_NAME = re.compile(r"`?[\w/]+\.md`?")
TITLE = re.compile(r"^# (.*)", re.M)
SHOWN_FILE = re.compile(r"^```\{repository-page\} (\S+)\n```$", re.M)


def make_title(page):
    """Makes a title of a path; generated lists of passes have none: "CPU kernel passes"."""
    words = re.findall(r"[A-Z]+(?![a-z])|[A-Z][a-z]+", page.stem)
    return " ".join([words[0], *(word if word.isupper() else word.lower() for word in words[1:])])


class RepositoryLinks:
    def __init__(self, docs, url):
        self.docs, self.root, self.url = docs, docs.parent, url.rstrip("/")
        #: The pages that show files from outside docs, by file.
        self.pages = {}
        for page in docs.rglob("*.md"):
            if match := SHOWN_FILE.search(page.read_text()):
                self.pages[self.root / match[1]] = page

    def read(self, page, text):
        """Returns the text of a page with converted links, and the file that it shows, if any."""
        shown = SHOWN_FILE.search(text)
        if not shown:
            return self.convert(text, page.parent, page.parent), None
        file = self.root / shown[1]
        return self.convert(file.read_text(), file.parent, page.parent), file

    def convert(self, text, folder, page_folder):
        """Converts links relative to `folder`, except in code."""
        lines, fence = [], None
        for line in text.split("\n"):
            match = FENCE.match(line)
            if match and (fence is None or match[1].startswith(fence)):
                fence = match[1] if fence is None else None
            elif fence is None:
                line = CONVERTED.sub(
                    lambda found: self.convert_part(found, folder, page_folder), line
                )
            lines.append(line)
        return "\n".join(lines)

    def convert_part(self, found, folder, page_folder):
        if found["path"]:
            page, indented = self.root / found["path"].strip("`"), found.string.startswith("    ")
            return found[0] if indented or not page.exists() else self.link(page, page_folder)
        if found["code"]:
            return found[0]
        return self.convert_link(LINK.fullmatch(found[0]), folder, page_folder)

    def link(self, page, page_folder):
        return f"[{self.title(page)}]({os.path.relpath(page, page_folder)})"

    def title(self, page):
        """Returns the title of a page, or of the file that it shows."""
        text = page.read_text()
        if shown := SHOWN_FILE.search(text):
            text = (self.root / shown[1]).read_text()
        title = TITLE.search(text)
        return title[1] if title else make_title(page)

    def convert_link(self, match, folder, page_folder):
        image, text, target = match.groups()
        path, hash_sign, anchor = target.partition("#")
        if ":" in target or not path:
            return match[0]
        file = (folder / path).resolve()
        file = self.pages.get(file, file)
        if image or (file.suffix == ".md" and file.is_relative_to(self.docs)):
            if not image and FILE_NAME.fullmatch(text) and file.exists():
                text = self.title(file)
            return f"{image}[{text}]({os.path.relpath(file, page_folder)}{hash_sign}{anchor})"
        if not file.exists():
            raise RuntimeError(f"the link {target} in {folder} leads nowhere")
        if not self.url:
            return text
        kind = "tree" if file.is_dir() else "blob"
        return f"[{text}]({self.url}/{kind}/main/{file.relative_to(self.root)}{hash_sign}{anchor})"
