"""HTML of a notebook's outputs and texts, reduced to what a report may hold: an allow-list of tags and attributes.

What comes from a ledger is escaped where it is shown (`core.markdown`, `show.cells`); this holds where that was
forgotten, and for outputs of any other kind: nothing is requested, no link covers the page, no file is read.
"""

from __future__ import annotations

import re
from collections.abc import Callable
from urllib.parse import urlsplit

from bs4 import BeautifulSoup, Tag
from bs4.element import PreformattedString

TEXT = "a abbr b blockquote br code dd del details div dl dt em figcaption figure h1 h2 h3 h4 h5 h6 hr i img ins kbd li"
TEXT += " mark ol p pre q s samp small span strong sub summary sup u ul wbr"
TABLE = "table caption colgroup col thead tbody tfoot tr th td style"
MATHML = "math maction menclose merror mfrac mi mmultiscripts mn mo mover mpadded mphantom mprescripts mroot mrow ms"
MATHML += " mspace msqrt mstyle msub msubsup msup mtable mtd mtext mtr munder munderover none semantics"
TAGS = frozenset(f"{TEXT} {TABLE} {MATHML}".split())
ACTIVE = "script iframe object embed template svg title textarea select audio video canvas head"
WITHOUT_TEXT = frozenset(ACTIVE.split())  # dropped with what they hold; of other tags the text stays
LENGTH = r"\d{0,3}(?:\.\d{1,6})?(?:px|pt|em|rem|ex|ch|%)?"
COLOUR = r"#[0-9a-fA-F]{3,8}|rgb\(\d{1,3}, ?\d{1,3}, ?\d{1,3}\)"
WORD = r"[a-z][a-z-]{0,30}"
# Attribute of any tag -> what its value may be.
ATTRIBUTES = {
    "id": r"T_\w{1,100}|verdict-[\w-]{1,1000}",  # of a table, to which its style refers; of a verdict
    "alt": r"(?s:.*)",
    "title": r"(?s:.*)",
    "open": r"|open|true",
    "scope": r"row|col|rowgroup|colgroup",
    **dict.fromkeys(("colspan", "rowspan", "span", "start"), r"\d{1,4}"),
    **dict.fromkeys(("width", "height"), r"\d{1,5}(?:\.\d{1,20})?(?:em|ex|px|pt)?"),
    **dict.fromkeys(
        ("display", "mathvariant", "columnalign", "rowalign", "notation", "form", "accent"), r"[a-z -]{1,40}"
    ),
    **dict.fromkeys(
        ("stretchy", "fence", "separator", "largeop", "movablelimits", "displaystyle"), r"true|false"
    ),
    **dict.fromkeys(("linethickness", "minsize", "maxsize", "scriptlevel", "lspace", "rspace"), LENGTH),
}
# Classes of the front page's cards, of pandas' tables, of pygments' code and of colours in what a program printed.
CLASS = re.compile(
    r"cards?|dataframe|data|number|blank|index_name|(?:col|row)_heading|(?:level|col|row)\d+|highlight|ansi-[\w-]+"
    r"|[a-z]{1,2}\d?|language-\w+"
)
LOOKS = "background-color caption-side color font-style font-weight min-width overflow-wrap padding-left padding-right"
LOOKS += " text-align text-decoration vertical-align white-space width"
PROPERTIES = frozenset(LOOKS.split())
VALUE = re.compile(f"{WORD}|{LENGTH}|{COLOUR}")
RULE = re.compile(r"([^{}]+)\{([^{}]*)\}")
OF_A_TABLE = re.compile(r"#T_[\w-]+[\w\s.#:>()-]*")
CSS_COMMENT = re.compile(r"/\*.*?\*/", re.DOTALL)
PLACE = re.compile(
    r"(?:[\w%-][\w%.-]*\.(?:html|csv|json|jsonl|ipynb))?(?:#[\w%.-]+)?"
)  # in this folder or page
PICTURE = re.compile(r"data:image/(?:png|jpeg|gif|webp|svg\+xml);base64,[A-Za-z0-9+/=\s]*")


def clean_html(html: str, *, keep_picture: Callable[[str], bool] = lambda _source: False) -> str:
    """Return HTML without tags, attributes, styles and links that are not on the lists; the text of tags stays.

    Args:
        keep_picture: Whether a picture that is no `data:` stays, from its source; in place of another stands its text.
    """
    soup = BeautifulSoup(html, "html.parser")
    for hidden in soup.find_all(string=lambda text: isinstance(text, PreformattedString)):
        hidden.extract()  # comments, and what a browser may take for one
    for tag in soup.find_all(True):
        if tag.decomposed:
            continue
        if tag.name in WITHOUT_TEXT:
            tag.decompose()
        elif tag.name not in TAGS:
            tag.unwrap()
        elif tag.name == "style":
            _clean_style(tag)
        elif tag.name == "a" and not is_link(tag.get("href", "")):
            tag.unwrap()
        elif tag.name == "img" and not (PICTURE.fullmatch(s := tag.get("src", "")) or keep_picture(s)):
            tag.replace_with(tag.get("alt") or "image")
        else:
            tag.attrs = _attributes(tag)
    return str(soup)


def is_link(target: str) -> bool:
    """Whether a link leads to a place in the report, or to the web by an ordinary address."""
    if PLACE.fullmatch(target):
        return bool(target)
    try:
        parts = urlsplit(target)
    except ValueError:
        return False
    return parts.scheme in ("http", "https") and bool(parts.hostname) and "@" not in parts.netloc


def clean_declarations(text: str) -> str:
    """Return the declarations of a style that are on the list: none moves anything out of its place."""
    pairs = (declaration.partition(":") for declaration in text.split(";"))
    known = ((name.strip().lower(), value.strip()) for name, _, value in pairs)
    return "; ".join(
        f"{name}: {value}" for name, value in known if name in PROPERTIES and VALUE.fullmatch(value)
    )


def _attributes(tag: Tag) -> dict[str, object]:
    kept: dict[str, object] = {}
    for name, value in tag.attrs.items():
        text = " ".join(value) if isinstance(value, list) else str(value)
        if name == "class":
            value = [word for word in text.split() if CLASS.fullmatch(word)]
        elif name == "style":
            value = clean_declarations(text)
        elif not ((name, tag.name) in (("href", "a"), ("src", "img")) or _is_allowed(name, text)):
            continue
        if value or name in ("alt", "open"):
            kept[name] = value
    return kept


def _is_allowed(name: str, text: str) -> bool:
    return name in ATTRIBUTES and re.fullmatch(ATTRIBUTES[name], text) is not None


def _clean_style(tag: Tag) -> None:
    """Keep the rules about tables that are named, as pandas writes them; without any, drop the tag."""
    rules = []
    for selectors, declarations in RULE.findall(CSS_COMMENT.sub("", tag.get_text())):
        names = [selector.strip() for selector in selectors.split(",")]
        if all(OF_A_TABLE.fullmatch(name) for name in names) and (kept := clean_declarations(declarations)):
            rules.append(f"{', '.join(names)} {{{kept}}}")
    if not rules:
        tag.decompose()
        return
    tag.attrs = {}
    tag.string = "\n".join(rules)
