"""
arXiv, its query interface and the papers.

Formats: the samples of https://info.arxiv.org/help/api/user-manual.html (3.2, 3.4); `arxiv`, a client that others
wrote, reads what is answered here.
"""

from typing import Any
from xml.sax.saxutils import escape

from werkzeug import Request, Response

from tests.fakes.vendor import FakeVendor

PDF = b"%PDF-1.5 a paper"
PAPERS = {
    "hep-ex/0307015v1": ("Multi-Electron Production at High Transverse Momenta\n in ep Collisions at HERA", True),
    "2301.00001v2": ("Nothing & Everything", False),
    "2301.00002v1": ("A Paper Without a PDF", False),
}


class Arxiv(FakeVendor):
    """Has `PAPERS`; looks among those of `id_list` if there is one, and takes no id without digits."""

    pdf = PDF

    def _setup(self) -> dict[str, Any]:
        return {"base_url": self.url}

    def _answer(self, request: Request) -> Response:
        if request.path.startswith("/moved/"):
            return Response(status=301, headers={"location": request.path.removeprefix("/moved")})
        if request.path.startswith("/pdf/"):
            return Response(self.pdf, content_type="application/pdf")
        if request.method != "GET" or request.path != "/api/query":
            return Response("<html>404</html>", status=404, content_type="text/html")
        asked = request.args
        ids = [one for one in asked.get("id_list", "").split(",") if one]
        if odd := next((one for one in ids if not any(map(str.isdigit, one))), None):
            return _atom(_entry_of_error(f"incorrect id format for {odd}"), 1)
        start, size = int(asked.get("start", "0")), int(asked.get("max_results", "10"))
        if not 0 <= size <= 2000:
            return Response(_feed(_entry_of_error("max_results must be at most 2000"), 1), 400, content_type="text/xml")
        found = [one for one in PAPERS if not ids or one in ids]
        if asked.get("sortOrder") == "ascending":
            found.reverse()
        return _atom("".join(self._entry(one) for one in found[start : start + size]), len(found))

    def _refusal(self, status: int) -> Response:
        return Response(_feed(_entry_of_error(self.words), 1), status, content_type="application/atom+xml")

    def _entry(self, number: str) -> str:
        title, is_published = PAPERS[number]
        more = (
            '<arxiv:doi xmlns:arxiv="http://arxiv.org/schemas/atom">10.1529/biophysj.104.047340</arxiv:doi>'
            "<arxiv:comment>23 pages, 8 figures</arxiv:comment>"
            "<arxiv:journal_ref>Eur.Phys.J. C31 (2003) 17-29</arxiv:journal_ref>"
        )
        pdf = f'<link title="pdf" href="{self.url}/moved/pdf/{number}" rel="related" type="application/pdf"/>'
        return f"""
  <entry>
    <id>http://arxiv.org/abs/{number}</id>
    <published>2003-07-07T13:46:39-04:00</published>
    <updated>2003-07-07T13:46:39Z</updated>
    <title>{escape(title)}</title>
    <summary>  Multi-electron production is studied
with the H1 detector.
</summary>
    <author><name>H1 Collaboration</name></author>
    <author>
      <name>Zoë Müller</name>
      <arxiv:affiliation>University of Nowhere</arxiv:affiliation>
    </author>
    {more if is_published else ""}
    <link href="http://arxiv.org/abs/{number}" rel="alternate" type="text/html"/>
    {pdf if "Without" not in title else ""}
    <arxiv:primary_category term="hep-ex" scheme="http://arxiv.org/schemas/atom"/>
    <category term="hep-ex" scheme="http://arxiv.org/schemas/atom"/>
    <category term="hep-ph" scheme="http://arxiv.org/schemas/atom"/>
  </entry>"""


def _entry_of_error(words: str) -> str:
    return f"""
  <entry>
    <id>http://arxiv.org/api/errors#{words.replace(" ", "_")}</id>
    <title>Error</title>
    <summary>{words}</summary>
    <updated>2007-10-12T00:00:00-04:00</updated>
    <link href="http://arxiv.org/api/errors" rel="alternate" type="text/html"/>
    <author><name>arXiv api core</name></author>
  </entry>"""


def _feed(entries: str, total: int) -> str:
    return f"""<?xml version="1.0" encoding="UTF-8"?>
<feed xmlns="http://www.w3.org/2005/Atom" xmlns:arxiv="http://arxiv.org/schemas/atom"
      xmlns:opensearch="http://a9.com/-/spec/opensearch/1.1/">
  <link href="http://arxiv.org/api/query?search_query=all" rel="self" type="application/atom+xml"/>
  <title type="html">ArXiv Query: search_query=all</title>
  <id>http://arxiv.org/api/cHxbiOdZaP56ODnBPIenZhzg5f8</id>
  <updated>2007-10-08T00:00:00-04:00</updated>
  <opensearch:totalResults>{total}</opensearch:totalResults>
  <opensearch:startIndex>0</opensearch:startIndex>
  <opensearch:itemsPerPage>10</opensearch:itemsPerPage>{entries}
</feed>"""


def _atom(entries: str, total: int) -> Response:
    return Response(_feed(entries, total), content_type="application/atom+xml; charset=UTF-8")
