// What pages do beyond links and forms: local times, the theme, live progress. They work without it.
"use strict";

function showLocalTimes(root) {
  for (const time of root.querySelectorAll("time[datetime]")) {
    const moment = new Date(time.dateTime);
    time.textContent = moment.toLocaleString(undefined, { dateStyle: "medium", timeStyle: "short" });
  }
}

function switchTheme() {
  const root = document.documentElement;
  const dark = root.dataset.theme
    ? root.dataset.theme === "dark"
    : matchMedia("(prefers-color-scheme: dark)").matches;
  root.dataset.theme = dark ? "light" : "dark";
  document.cookie = `theme=${root.dataset.theme};path=/;max-age=31536000;samesite=lax`;
  document.dispatchEvent(new Event("themechange"));
}

async function refresh(url, selector) {
  const answer = await fetch(url, { headers: { "HX-Request": "true" } });
  if (!answer.ok) return null;
  const page = new DOMParser().parseFromString(await answer.text(), "text/html");
  const fresh = page.querySelector(selector);
  const old = document.querySelector(selector);
  if (!fresh || !old) return null;
  old.replaceWith(fresh);
  htmx.process(fresh);
  showLocalTimes(fresh);
  fresh.dispatchEvent(new Event("refreshed", { bubbles: true }));
  return fresh;
}

// Follows a sweep. The stream says that something happened; the server renders what became of it.
function follow(node) {
  const { events, kinds, progress } = node.dataset;
  const say = (text) => {
    const place = document.querySelector("[data-connection]");
    if (place) place.textContent = text;
  };
  let waiting = false;
  let viewed = Date.now();
  const happened = () => {
    if (waiting) return;
    waiting = true;
    setTimeout(async () => {
      waiting = false;
      const fresh = await refresh(progress, "#progress").catch(() => null);
      const over = fresh && !fresh.dataset.events;
      say("live");
      const view = document.querySelector("[data-view]");
      const busy = view && view.contains(document.activeElement);
      if (over) source.close();
      if (over || (!busy && Date.now() - viewed > 3000)) {
        viewed = Date.now();
        await refresh(location.href, "[data-view]").catch(() => null);
        if (over) await refresh(location.href, ".actions").catch(() => null);
      }
    }, 250);
  };
  let source;
  const connect = () => {
    source = new EventSource(events);
    source.onopen = () => say("live");
    source.onerror = () => {
      say("reconnecting …");
      if (source.readyState === EventSource.CLOSED) setTimeout(again, 2000);
    };
    for (const kind of kinds.split(" ")) source.addEventListener(kind, happened);
  };
  // The browser comes back by itself, with the number of the last event, but for answers that are errors or the end.
  const again = async () => {
    const fresh = await refresh(progress, "#progress").catch(() => null);
    if (fresh && !fresh.dataset.events) await refresh(location.href, "[data-view]").catch(() => null);
    else connect();
  };
  connect();
}

document.addEventListener("DOMContentLoaded", () => {
  showLocalTimes(document);
  document.body.addEventListener("htmx:afterSettle", (event) => showLocalTimes(event.target));
  document.querySelector("[data-theme-switch]").addEventListener("click", switchTheme);
  document.addEventListener("click", (event) => {
    const button = event.target.closest("[data-copy]");
    if (!button) return;
    const text = document.querySelector(button.dataset.copy);
    if (navigator.clipboard) {
      navigator.clipboard.writeText(text.textContent);
      button.textContent = "Copied";
    } else { // over plain HTTP from another host
      getSelection().selectAllChildren(text);
      button.textContent = "Selected: press Ctrl+C";
    }
  });
  document.addEventListener("keydown", (event) => {
    const typing = event.target.closest("input, select, textarea");
    const filter = document.querySelector("[data-filter]");
    if (event.key === "/" && !typing && filter) {
      event.preventDefault();
      filter.focus();
    }
  });
  const live = document.querySelector("[data-events]");
  if (live) follow(live);
  const polled = document.querySelector("[data-refresh]");
  if (polled) setInterval(() => refresh(location.href, `#${polled.id}`).catch(() => null), Number(polled.dataset.refresh));
});
