# Part of the bppsa project, under the MIT License.
"""Adapts the relative links of Markdown files to the site.

* A page that consists of a `{repository-page}` block shows a Markdown file from outside docs.
* Links to files that are not pages go to a repository URL, or become plain text if it is empty.
"""

import os
import re

FENCE = re.compile(r" {0,3}(```+|~~~+|:::+)")
LINK = re.compile(r"(!?)\[((?:[^\[\]]|\[[^\[\]]*\])*)\]\(([^()\s]+)\)")
CODE_OR_LINK = re.compile(r"(?P<code>(`+)(?:(?!\2).)*?\2(?!\]\())|" + LINK.pattern)
SHOWN_FILE = re.compile(r"^```\{repository-page\} (\S+)\n```$", re.M)


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
        """Converts links relative to `folder`, except in fenced code and code spans."""
        lines, fence = [], None
        for line in text.split("\n"):
            match = FENCE.match(line)
            if match and (fence is None or match[1].startswith(fence)):
                fence = match[1] if fence is None else None
            elif fence is None:
                line = CODE_OR_LINK.sub(
                    lambda found: (
                        found[0]
                        if found["code"]
                        else self.convert_link(LINK.fullmatch(found[0]), folder, page_folder)
                    ),
                    line,
                )
            lines.append(line)
        return "\n".join(lines)

    def convert_link(self, match, folder, page_folder):
        image, text, target = match.groups()
        path, hash_sign, anchor = target.partition("#")
        if ":" in target or not path:
            return match[0]
        file = (folder / path).resolve()
        file = self.pages.get(file, file)
        if image or (file.suffix == ".md" and file.is_relative_to(self.docs)):
            return f"{image}[{text}]({os.path.relpath(file, page_folder)}{hash_sign}{anchor})"
        if not file.exists():
            raise RuntimeError(f"the link {target} in {folder} leads nowhere")
        if not self.url:
            return text
        kind = "tree" if file.is_dir() else "blob"
        return f"[{text}]({self.url}/{kind}/main/{file.relative_to(self.root)}{hash_sign}{anchor})"
