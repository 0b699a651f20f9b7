"""Running the notebooks and writing the pages: command line, parameters, execution, export."""

import sys

# jsonschema, which nbformat imports, would load it to check addresses that no notebook has, and its grammar
# takes two seconds of every command's start. Absent, that one check is left out.
sys.modules.setdefault("rfc3987_syntax", None)
