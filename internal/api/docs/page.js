"use strict";
(() => {
  const $ = (id) => document.getElementById(id);
  const all = (query, from = document) => [...from.querySelectorAll(query)];
  // make builds an element: make("p", {className: "x"}, "text", child).
  const make = (tag, props, ...children) => {
    const el = Object.assign(document.createElement(tag), props);
    el.append(...children);
    return el;
  };
  // kept reads and writes one text of a storage, which a private window may refuse.
  const kept = (storage, name) => {
    let memory = null;
    return {
      get: () => { try { return window[storage].getItem(name) ?? memory; } catch { return memory; } },
      set: (text) => {
        memory = text;
        try { text ? window[storage].setItem(name, text) : window[storage].removeItem(name); } catch { /* kept in memory */ }
      },
    };
  };

  // Light and dark: the system's choice until the button is pressed.
  const theme = kept("localStorage", "slipbox-theme"), dark = matchMedia("(prefers-color-scheme: dark)");
  if (theme.get()) document.documentElement.dataset.theme = theme.get();
  $("page-theme").addEventListener("click", () => {
    const now = document.documentElement.dataset.theme || (dark.matches ? "dark" : "light");
    const next = now === "dark" ? "light" : "dark";
    document.documentElement.dataset.theme = next;
    theme.set(next);
  });

  // The list of operations, which narrow screens open over the page.
  const nav = $("page-nav"), menu = $("page-menu");
  const list = (open) => { nav.classList.toggle("open", open); menu.setAttribute("aria-expanded", String(open)); };
  menu.addEventListener("click", () => list(!nav.classList.contains("open")));
  nav.addEventListener("click", (e) => { if (e.target.closest("a")) list(false); });

  // Search.
  const box = $("page-find"), items = all("[data-words]"), groups = all("[data-group]"), intros = all("[data-intro]");
  const find = () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    let left = 0;
    for (const el of items) {
      el.hidden = !words.every((w) => el.dataset.words.includes(w));
      if (!el.hidden) left++;
    }
    for (const g of groups) g.hidden = words.length > 0 && !g.querySelector("[data-words]:not([hidden])");
    for (const el of intros) el.hidden = words.length > 0;
    $("page-none").style.display = left ? "none" : "block";
  };
  box.addEventListener("input", () => { find(); scrollTo(0, 0); });
  addEventListener("keydown", (e) => {
    const typing = e.target.closest?.("input, textarea");
    if (e.key === "/" && !typing) { e.preventDefault(); box.focus(); }
    if (e.key === "Escape") list(false);
    if (e.key === "Escape" && document.activeElement === box) { box.value = ""; find(); box.blur(); }
  });

  for (const b of all(".copy")) {
    b.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(b.parentElement.querySelector("pre").innerText);
        b.textContent = "copied";
      } catch { b.textContent = "no clipboard"; }
      setTimeout(() => { b.textContent = "copy"; }, 1500);
    });
  }

  // A link to what a search hides ends the search, and opens a schema.
  const reveal = () => {
    const el = $(decodeURIComponent(location.hash.slice(1)));
    if (!el) return;
    if (el.closest("[hidden]")) { box.value = ""; find(); }
    if (el.tagName === "DETAILS") el.open = true;
    el.scrollIntoView();
  };
  addEventListener("hashchange", reveal);
  if (location.hash) reveal();

  const links = new Map(all("nav a").map((a) => [a.hash.slice(1), a]));
  const watch = new IntersectionObserver((entries) => {
    for (const e of entries) links.get(e.target.id)?.classList.toggle("here", e.isIntersecting);
  }, { rootMargin: "-20% 0px -70% 0px" });
  for (const el of all("article[id]")) watch.observe(el);

  // The key of "Try it": in this tab's session storage, and nowhere else.
  const key = kept("sessionStorage", "slipbox-key"), keyBox = $("page-key-text"), forget = $("page-key-forget");
  const showKey = () => {
    forget.disabled = !key.get();
    $("page-key-state").textContent = key.get() ? "A key is set." : "";
    for (const el of all(".try .keyless")) el.hidden = Boolean(key.get());
  };
  keyBox.value = key.get() || "";
  keyBox.addEventListener("input", () => { key.set(keyBox.value.trim()); showKey(); });
  forget.addEventListener("click", () => { key.set(""); keyBox.value = ""; showKey(); });
  showKey();

  // lines breaks JSON into lines. It does not parse, so large numbers stay what they are.
  const lines = (json) => {
    let out = "", depth = 0, quoted = false;
    for (let i = 0; i < json.length; i++) {
      const c = json[i], indent = () => "\n" + "  ".repeat(depth);
      if (quoted) {
        out += c;
        if (c === "\\") out += json[++i] ?? "";
        else if (c === '"') quoted = false;
        continue;
      }
      if (c === '"') { quoted = true; out += c; }
      else if (c === "{" || c === "[") {
        const empty = /^\s*[}\]]/.exec(json.slice(i + 1, i + 20));
        if (empty) { out += c + empty[0].trim(); i += empty[0].length; continue; }
        depth++; out += c + indent();
      } else if (c === "}" || c === "]") { depth--; out += indent() + c; }
      else if (c === ",") out += c + indent();
      else if (c === ":") out += ": ";
      else if (!/\s/.test(c)) out += c;
    }
    return out;
  };

  // What was typed or answered for a path is filled into the forms that are opened after it.
  const known = new Map();
  const learn = (verb, path, text) => {
    let answer;
    try { answer = JSON.parse(text); } catch { return; }
    if (verb === "post" && path === "/v1/collections" && answer.name) known.set("collection", answer.name);
    const one = /\/(note|job|review|agent|tenant)s$/.exec(path)?.[1];
    const first = answer.items?.[0]?.id ?? answer.id;
    if (one && first) known.set(one, first);
    for (const name of ["note", "job"]) if (answer[name]?.id) known.set(name, answer[name].id);
  };

  const maxShown = 200000; // characters of an answer
  const form = (article) => {
    const { verb, path, media, body } = article.dataset, open = "public" in article.dataset;
    const fields = all("[data-param]", article).map((el) => {
      const { param, sample } = el.dataset, where = el.dataset.in;
      const input = make("input", { type: "text", autocomplete: "off", spellcheck: false, value: where === "path" ? known.get(param) ?? sample : "" });
      input.placeholder = where === "path" ? "required" : el.querySelector(".more")?.textContent ?? "";
      return { param, where, input, label: make("label", {}, `${param} (${where})`, input) };
    });
    const text = media ? make("textarea", { value: body, spellcheck: false, rows: Math.min(14, body.split("\n").length + 1) }) : null;
    const send = make("button", { type: "button", className: "send", textContent: "Send" });
    const status = make("div", { className: "status" }), shown = make("pre", { hidden: true, tabIndex: 0 });
    status.setAttribute("role", "status");
    const keyless = make("p", { className: "status keyless", hidden: open || Boolean(key.get()) });
    keyless.append(make("a", { href: "#page-key", textContent: "Set a key" }), " first.");
    const say = (words, kind = "") => { status.textContent = words; status.className = "status " + kind; };

    let running = null, sure = verb !== "delete";
    const relabel = (words) => { send.textContent = words; send.classList.toggle("sure", words.startsWith("Really")); };
    send.addEventListener("click", async () => {
      if (running) { running.abort(); return; }
      let url = path;
      const query = new URLSearchParams(), headers = {};
      for (const f of fields) {
        const value = f.input.value.trim();
        if (f.where === "path") {
          if (!value) { say(f.param + " is required", "bad"); f.input.focus(); return; }
          url = url.replace(`{${f.param}}`, encodeURIComponent(value));
          known.set(f.param, value);
        } else if (value && f.where === "query") query.set(f.param, value);
        else if (value) headers[f.param] = value;
      }
      if (!sure) { sure = true; relabel("Really delete?"); return; }
      if (!open && key.get()) headers.Authorization = "Bearer " + key.get();
      if (text) headers["Content-Type"] = media;
      if (query.size) url += "?" + query;
      running = new AbortController();
      relabel("Stop");
      say("…");
      shown.hidden = true;
      shown.textContent = "";
      const began = performance.now();
      try {
        const answer = await fetch(url, {
          method: verb.toUpperCase(), headers, body: text && text.value !== "" ? text.value : undefined, signal: running.signal,
          mode: "same-origin", credentials: "omit", redirect: "error", cache: "no-store", referrerPolicy: "no-referrer",
        });
        const revision = answer.headers.get("Slipbox-Revision");
        const head = `${answer.status} ${answer.statusText}` + (revision ? ` · revision ${revision}` : "");
        const kind = answer.ok ? "good" : "bad";
        say(head, kind);
        let got = "";
        if (answer.body) {
          const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
          for (;;) {
            const { done, value } = await reader.read();
            if (done) break;
            got += value;
            shown.hidden = false;
            shown.textContent = got.slice(0, maxShown);
            if (got.length > maxShown) { running.abort(); break; }
          }
        }
        if (/json/.test(answer.headers.get("Content-Type") || "") && got.length <= maxShown) {
          shown.textContent = lines(got);
          if (answer.ok) learn(verb, path, got);
        }
        say(`${head} · ${Math.round(performance.now() - began)} ms${got.length > maxShown ? " · cut off" : ""}`, kind);
      } catch (err) {
        say(err.name === "AbortError" ? "stopped" : "no answer: " + err.message, "bad");
      }
      running = null;
      sure = verb !== "delete";
      relabel("Send");
    });
    const panel = make("div", { className: "form" }, keyless, ...fields.map((f) => f.label));
    if (text) panel.append(make("label", {}, `body (${media})`, text));
    panel.append(send, status, shown);
    return panel;
  };
  for (const article of all("article[id]")) {
    const details = make("details", { className: "try" }, make("summary", { textContent: "Try it" }));
    details.addEventListener("toggle", () => { if (details.open && details.children.length === 1) details.append(form(article)); });
    article.querySelector(".samples").prepend(details);
  }

  // The quick start names this gateway.
  for (const el of all("[data-step]")) el.textContent = el.textContent.replace("http://127.0.0.1:8080", location.origin);
})();
