"use strict";
(() => {
  const root = document.documentElement;
  const stored = (() => { try { return localStorage.getItem("slipbox-theme"); } catch { return null; } })();
  const dark = matchMedia("(prefers-color-scheme: dark)");
  const show = (theme) => { root.dataset.theme = theme; };
  show(stored || (dark.matches ? "dark" : "light"));
  if (!stored) dark.addEventListener("change", (e) => show(e.matches ? "dark" : "light"));
  document.getElementById("theme").addEventListener("click", () => {
    const next = root.dataset.theme === "dark" ? "light" : "dark";
    show(next);
    try { localStorage.setItem("slipbox-theme", next); } catch { /* private window */ }
  });

  const nav = document.getElementById("nav"), menu = document.getElementById("menu");
  const list = (open) => { nav.classList.toggle("open", open); menu.setAttribute("aria-expanded", String(open)); };
  menu.addEventListener("click", () => list(!nav.classList.contains("open")));
  nav.addEventListener("click", (e) => { if (e.target.closest("a")) list(false); });

  const box = document.getElementById("search");
  const items = [...document.querySelectorAll("[data-words]")];
  const groups = [...document.querySelectorAll("[data-group]")];
  const none = document.getElementById("none");
  box.addEventListener("input", () => {
    const words = box.value.toLowerCase().split(/\s+/).filter(Boolean);
    let left = 0;
    for (const el of items) {
      el.hidden = !words.every((w) => el.dataset.words.includes(w));
      if (!el.hidden) left++;
    }
    for (const g of groups) g.hidden = words.length > 0 && !g.querySelector("[data-words]:not([hidden])");
    none.style.display = left ? "none" : "block";
  });
  addEventListener("keydown", (e) => {
    if (e.key === "/" && document.activeElement !== box) { e.preventDefault(); box.focus(); }
    if (e.key === "Escape") list(false);
    if (e.key === "Escape" && document.activeElement === box) { box.value = ""; box.dispatchEvent(new Event("input")); box.blur(); }
  });

  for (const b of document.querySelectorAll(".copy")) {
    b.addEventListener("click", async () => {
      try {
        await navigator.clipboard.writeText(b.parentElement.querySelector("pre").innerText);
        b.textContent = "copied";
      } catch { b.textContent = "no clipboard"; }
      setTimeout(() => { b.textContent = "copy"; }, 1500);
    });
  }

  const open = () => {
    const el = document.getElementById(decodeURIComponent(location.hash.slice(1)));
    if (el && el.tagName === "DETAILS") el.open = true;
  };
  addEventListener("hashchange", open);
  open();

  const links = new Map([...document.querySelectorAll("nav a")].map((a) => [a.hash.slice(1), a]));
  const watch = new IntersectionObserver((entries) => {
    for (const e of entries) {
      const a = links.get(e.target.id);
      if (a) a.classList.toggle("here", e.isIntersecting);
    }
  }, { rootMargin: "-20% 0px -70% 0px" });
  for (const el of document.querySelectorAll("article[id]")) watch.observe(el);
})();
