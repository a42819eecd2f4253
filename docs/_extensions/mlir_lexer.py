# Part of the bppsa project, under the MIT License.
"""Highlights MLIR, for which Pygments has no lexer."""

from pygments.lexer import RegexLexer
from pygments.token import Comment, Keyword, Name, Number, Operator, Punctuation, String, Text


class MLIRLexer(RegexLexer):
    name = "MLIR"
    aliases = ["mlir"]
    tokens = {
        "root": [
            (r"\s+", Text),
            (r"//.*", Comment.Single),
            (r'"(\\.|[^"\\])*"', String),
            (r"[%#^][\w$.-]+", Name.Variable),
            (r"@[\w$.-]+", Name.Function),
            (r"![\w.]+", Keyword.Type),
            (r"\b(index|none|[su]?i\d+|b?f\d+|tensor|memref|vector)\b", Keyword.Type),
            (r"\b\d+(\.\d*)?([eE][+-]?\d+)?", Number),
            (r"[a-z_]\w*(\.\w+)+", Name.Builtin),
            (r"\b(func|module|to|step|iter_args|ins|outs|attributes)\b", Keyword),
            (r"[A-Za-z_]\w*", Name),
            (r"->|[=:*+|&]", Operator),
            (r"[^\w\s]", Punctuation),
        ]
    }
