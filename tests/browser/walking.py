"""Walks all pages by their links, fills in every form that it meets, and looks for what came alive.

Nothing of a page is known beforehand: a new page or form is walked and filled in like the others.
"""

import re
from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, field
from typing import TypedDict
from urllib.parse import parse_qsl, urlencode, urlsplit

from playwright.sync_api import Page

HOSTILE = (
    "javascript:alert(1)//\"><script>alert(2)</script><img src=x onerror=alert(3)>{{7*7}}${7*7}'"
)
NOT_PAGES = ("/v1", "/docs", "/openapi", "/static", "/sign-out")
ID = re.compile(r"/[0-9a-f]{8}-[0-9a-f-]{27}|(?<=/baselines)/[^/]+")

READ = r"""(page, url) => ({
    url,
    links: [...page.querySelectorAll('a[href]:not([download])')].map(a => a.getAttribute('href')),
    forms: [...page.forms].map((form, index) => ({
        index,
        action: form.getAttribute('action') || new URL(url).pathname,
        fields: Object.fromEntries([...form.elements]
            .filter(one => one.name && ['text', 'password', 'textarea'].includes(one.type))
            .map(one => [one.name, one.value || one.placeholder || (one.required ? 'x' : '')])),
    })),
    came_alive: [...page.querySelectorAll('*')].filter(node =>
        node.matches('img, iframe, object, embed, base, script:not([src])')
        || [...node.attributes].some(({name, value}) => name.startsWith('on')
            || (/href|src|action/.test(name) && /^\s*(javascript|data):/i.test(value)))
    ).map(node => node.outerHTML.slice(0, 200)),
})"""
SEE = f"() => ({READ})(document, location.href)"
GET = f"""async path => {{
    const answer = await fetch(path);
    const page = new DOMParser().parseFromString(await answer.text(), 'text/html');
    return ({READ})(page, answer.url);
}}"""
SEND = f"""async ([path, action, name, values]) => {{
    const parse = async answer => new DOMParser().parseFromString(await answer.text(), 'text/html');
    const page = await parse(await fetch(path));
    const form = [...page.forms].find(one =>
        (one.getAttribute('action') || path) === action && one.elements[name]);
    if (!form) return null;  // what was sent before has left nothing to send again
    for (const name in values) form.elements[name].value = values[name];
    const sent = new URLSearchParams(new FormData(form));
    const answer = form.method === 'post'
        ? await fetch(action, {{method: 'POST', body: sent}})
        : await fetch(`${{action}}?${{sent}}`);
    return ({READ})(await parse(answer), answer.url);
}}"""
SEND_ALL = """([index, text]) => {
    const form = document.forms[index];
    form.noValidate = true;
    for (const one of form.elements) {
        if (['text', 'password', 'textarea'].includes(one.type)) one.value = text;
    }
    form.requestSubmit();
}"""
SHOWN = """text => document.body.innerText.includes(text)
    || [...document.querySelectorAll('input, textarea')].some(one => one.value === text)"""


class Form(TypedDict):
    """Its place on its page, and its free-text fields with values that may do."""

    index: int
    action: str
    fields: dict[str, str]


class Seen(TypedDict):
    """What a page holds."""

    url: str
    links: list[str]
    forms: list[Form]
    came_alive: list[str]


def shape_of(path: str) -> str:
    """A path without what differs from one of its kind to the next."""
    return ID.sub("/*", urlsplit(path).path)


@dataclass
class Walk:
    """One browser window on its way, and what it has met."""

    page: Page
    came_alive: list[str] = field(default_factory=list)
    paths: list[str] = field(default_factory=list)
    """One page of each kind."""
    fields: set[tuple[str, str]] = field(default_factory=set)
    """Shape of a form's action and name of a field, of all that were filled in."""
    shown: set[str] = field(default_factory=set)
    """Shapes of pages that showed the whole text."""

    def fill_everything(self, *starts: str) -> None:
        """Follow links; put the text into each field and each parameter of a link, by itself.

        The answers are parsed and not rendered, which costs a tenth of it.
        """
        waiting, known = deque(starts), set(map(shape_of, starts))
        while waiting:
            path = waiting.popleft()
            self.paths.append(path)
            seen = self._noted(self.page.evaluate(GET, path))
            for form in seen["forms"]:
                self._fill_in(path, form)
            for link, names in self._links(seen):
                if shape_of(link) in known:
                    continue
                known.add(shape_of(link))
                waiting.append(link)
                for name in names:
                    asked = urlencode({name: HOSTILE})
                    self._noted(self.page.evaluate(GET, f"{link}?{asked}"))

    def see_everything(self) -> None:
        """Render every page, and what it says to each of its forms with all fields filled."""
        sent: set[str] = set()
        for path in self.paths:
            forms = self._see(path)["forms"]
            for form in forms:
                if form["fields"] and shape_of(form["action"]) not in sent:
                    sent.add(shape_of(form["action"]))
                    with self.page.expect_navigation():
                        self.page.evaluate(SEND_ALL, [form["index"], HOSTILE])
                    self._noted(self.page.evaluate(SEE))
                    break

    def _see(self, path: str) -> Seen:
        self.page.goto(path)
        if self.page.evaluate(SHOWN, HOSTILE):
            self.shown.add(shape_of(path))
        return self._noted(self.page.evaluate(SEE))

    def _noted(self, seen: Seen) -> Seen:
        self.came_alive += [f"{seen['url']}: {one}" for one in seen["came_alive"]]
        return seen

    def _fill_in(self, path: str, form: Form) -> None:
        action, usual = shape_of(form["action"]), form["fields"]
        for name in usual:
            if (action, name) not in self.fields:
                self.fields.add((action, name))
                sent = [path, form["action"], name, {**usual, name: HOSTILE}]
                if (answer := self.page.evaluate(SEND, sent)) is not None:
                    self._noted(answer)

    def _links(self, seen: Seen) -> Iterator[tuple[str, list[str]]]:
        """Paths, and the names of the parameters that a link had."""
        here = urlsplit(seen["url"]).path
        for link in seen["links"]:
            parts = urlsplit(link)
            path = parts.path or here
            if not parts.netloc and not path.startswith(NOT_PAGES):
                yield path, [name for name, _ in parse_qsl(parts.query)]
