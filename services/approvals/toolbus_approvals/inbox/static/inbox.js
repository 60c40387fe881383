/* Keeps an open page up to date. Everything else works without it. */
"use strict";
(() => {
  const live = document.querySelector("[data-events]");
  const status = document.getElementById("status");
  if (!live || !status || !window.EventSource) return;
  const wait = live.dataset.wait;
  const source = new EventSource(live.dataset.events);
  let wanted = false;

  const tell = (text) => {
    if (status.textContent !== text) status.textContent = text;
  };

  const refresh = () => {
    // The read table follows the log a moment later: a second look finds what the first one was too early for.
    window.htmx.trigger(live, "waits");
    if (!wanted) {
      wanted = true;
      setTimeout(() => {
        wanted = false;
        window.htmx.trigger(live, "waits");
      }, 1000);
    }
  };

  source.addEventListener("waits", (event) => {
    if (!wait) refresh();
    else if (JSON.parse(event.data).includes(wait)) tell("This wait has changed meanwhile. Reload the page to see it.");
  });
  source.addEventListener("open", () => {
    live.dataset.live = "yes";
    if (status.dataset.lost) {
      delete status.dataset.lost;
      tell("Connected again.");
      if (!wait) refresh();
    }
  });
  source.addEventListener("error", () => {
    status.dataset.lost = "yes";
    tell(
      source.readyState === EventSource.CLOSED
        ? "You are signed out, or the server is away. Reload the page."
        : "The connection was lost; trying again.",
    );
  });

  document.addEventListener("htmx:after:swap", () => {
    const count = live.querySelector("[data-count]");
    if (count) tell(`The list is up to date: ${count.dataset.count}.`);
  });
})();
