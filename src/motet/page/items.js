// Shows the items of a page: search, filters, order, pages of a list, and each item opened in its place.
(async () => {
  "use strict";
  const PAGE = 50; // items in the list at a time
  const FOLD = { whole: 600, start: 360, end: 180 }; // characters of a long text that are shown before it is unfolded
  const REVEAL = 20000; // a longer text stays folded even where the search found something in it

  const KINDS = {
    right: ["✓", "right"], part: ["~", "partly right"], wrong: ["×", "wrong"],
    abstained: ["–", "abstained"], failed: ["!", "failed"], ungraded: ["?", "not graded"],
  };

  // An element with properties and children. Texts become text nodes: none is ever read as markup.
  function make(tag, properties = {}, ...children) {
    const node = document.createElement(tag);
    for (const [name, value] of Object.entries(properties)) {
      if (name in node) node[name] = value;
      else node.setAttribute(name, value);
    }
    node.append(...children.filter((child) => child != null));
    return node;
  }
  const plural = (count, one, many = `${one}s`) => `${count.toLocaleString("en")} ${count === 1 ? one : many}`;
  const figure = (value) => (value === 0 ? "0" : Math.abs(value) >= 100 ? Math.round(value).toLocaleString("en") : Math.abs(value) < 1e-6
    ? value.toExponential(1) : value.toLocaleString("en", { maximumSignificantDigits: 3 }));
  const short = (text, most) => (text.length > most ? `${text.slice(0, most).replace(/[\uD800-\uDBFF]$/, "")}…` : text);

  const places = [...document.querySelectorAll("[data-items]")];
  const waiting = places.map((place) => place.appendChild(make("p", { className: "note", role: "status" }, "Unpacking the items…")));
  let data;
  try {
    const coded = atob(document.getElementById("items").textContent);
    const bytes = new Uint8Array(coded.length);
    for (let i = 0; i < coded.length; i++) bytes[i] = coded.charCodeAt(i);
    data = await new Response(new Blob([bytes]).stream().pipeThrough(new DecompressionStream("gzip"))).json();
  } catch (error) {
    for (const note of waiting) {
      note.className = "warning";
      note.textContent = `The items could not be unpacked (${error.message}). It takes Chrome 80, Firefox 113, Safari 16.4 or later, and a page that is whole.`;
    }
    return;
  }
  const texts = data.texts;

  // Which texts hold a word is found out once a text, however many items share it.
  const lowered = [];
  const found = new Map();
  function holds(place, word) {
    const known = found.get(word);
    if (known[place] === 0) {
      lowered[place] ??= texts[place].toLowerCase();
      known[place] = lowered[place].includes(word) ? 1 : 2;
    }
    return known[place] === 1;
  }
  function search(words) {
    for (const word of found.keys()) if (!words.includes(word)) found.delete(word);
    for (const word of words) if (!found.has(word)) found.set(word, new Uint8Array(texts.length));
  }

  const kind = (answer) => (answer.state === "failed" ? "failed" : answer.grade >= 1 && answer.grade !== null ? "right"
    : answer.grade > 0 ? "part" : answer.state === "abstained" ? "abstained" : answer.grade === null ? "ungraded" : "wrong");

  function read(row, place) {
    const [id, topic, question, target, tags, answers] = row;
    const item = { place, id: texts[id], topic: texts[topic], question: texts[question], target: texts[target], tags: tags.map((tag) => texts[tag]) };
    item.own = [id, question, target, ...answers.flatMap((answer) => [answer[1], answer[4]])];
    item.inner = answers.flatMap((answer) => answer[8].map((ask) => ask[2]));
    item.answers = answers.map(([arm, text, grade, state, note, usd, calls, seconds, asks]) => {
      const answer = { arm: texts[arm], text: texts[text], grade, state: texts[state], note: texts[note], usd, calls, seconds };
      answer.asks = asks.map(([agent, how, said, heard, took, depth]) => (
        { agent: texts[agent], state: texts[how], text: texts[said], place: said, heard, seconds: took, depth }));
      answer.kind = kind(answer);
      return answer;
    });
    item.byArm = new Map(item.answers.map((answer) => [answer.arm, answer]));
    const graded = item.answers.filter((answer) => answer.kind !== "ungraded");
    const right = graded.filter((answer) => answer.kind === "right").length;
    item.split = graded.length ? (right * (graded.length - right)) / graded.length ** 2 : 0;
    item.different = new Set(item.answers.map((answer) => answer.text.trim())).size;
    return item;
  }

  const natural = new Intl.Collator("en", { numeric: true });
  const ORDERS = {
    asked: ["as asked", (a, b) => a.place - b.place],
    id: ["id", (a, b) => natural.compare(a.id, b.id) || a.place - b.place],
    split: ["most disagreement", (a, b) => b.split - a.split || b.different - a.different || a.place - b.place],
  };

  // A text with the words of the search marked in it.
  function marked(text, words) {
    if (!words.length) return [text];
    const pattern = new RegExp(words.map((word) => word.replace(/[.*+?^${}()|[\]\\]/g, "\\$&")).join("|"), "giu");
    const parts = [];
    let last = 0;
    for (const hit of text.matchAll(pattern)) {
      parts.push(text.slice(last, hit.index), make("mark", {}, hit[0]));
      last = hit.index + hit[0].length;
    }
    return [...parts, text.slice(last)];
  }

  // A text as it is, or its beginning and its end with a button for the rest.
  function prose(text, words) {
    const lines = text.split("\n", 30).length;
    if (text.length <= FOLD.whole && lines < 14) return make("div", { className: "prose", dir: "auto" }, ...marked(text, words));
    const start = short(text, FOLD.start).split("\n").slice(0, 8).join("\n").replace(/…$/, "");
    const end = text.slice(Math.max(start.length, text.length - FOLD.end)).replace(/^[\uDC00-\uDFFF]/, "").split("\n").slice(-4).join("\n");
    const hidden = text.slice(start.length, text.length - end.length).toLowerCase();
    const node = make("div", { className: "prose", dir: "auto" });
    const more = make("button", { type: "button", className: "more" });
    let open = text.length <= REVEAL && words.some((word) => hidden.includes(word));
    const fill = () => {
      node.replaceChildren(...(open ? marked(text, words)
        : [...marked(start, words), make("span", { className: "gap", title: "left out here" }, " […] "), ...marked(end, words)]));
      more.textContent = open ? "show less" : `show all ${plural(text.length, "character")}`;
      more.setAttribute("aria-expanded", open);
    };
    more.onclick = () => { open = !open; fill(); };
    fill();
    return make("div", {}, node, more);
  }

  const mark = (answer) => {
    const [sign, name] = KINDS[answer.kind];
    const grade = answer.kind === "part" ? ` (${figure(answer.grade)})` : "";
    return make("span", { className: `mark ${answer.kind}`, title: `${answer.arm}: ${name}${grade}` }, sign);
  };
  const named = (answer) => make("span", { className: "verdict-of", role: "img", "aria-label": KINDS[answer.kind][1] }, mark(answer));

  function strip(item, arms) {
    const said = arms.map((arm) => `${arm}: ${item.byArm.has(arm) ? KINDS[item.byArm.get(arm).kind][1] : "not asked"}`);
    return make("span", { className: "strip", role: "img", "aria-label": said.join(", ") },
      ...arms.map((arm) => (item.byArm.has(arm) ? mark(item.byArm.get(arm)) : make("span", { className: "mark", title: `${arm}: not asked` }))));
  }

  // What happened inside an answer. "heard" leads to the asks whose words an ask was given.
  function inside(answer, words) {
    const list = make("ol", { className: "asks" });
    const rows = answer.asks.map((ask, i) => {
      const row = make("li", { tabIndex: -1, className: ask.state === "failed" ? "lost" : "" });
      row.style.setProperty("--depth", Math.min(ask.depth, 8));
      const head = make("div", { className: "head" }, make("span", { className: "number" }, `${i + 1}`), make("strong", {}, ask.agent),
        make("span", { className: "soft" }, ask.state), ask.seconds ? make("span", { className: "soft" }, `${figure(ask.seconds)} s`) : null);
      if (ask.heard.length) {
        const heard = make("span", { className: "soft" }, "heard: ");
        ask.heard.forEach((other, k) => heard.append(k ? ", " : "", make("button", { type: "button", className: "link", onclick: () => lead(other) },
          `${other + 1} ${answer.asks[other].agent}`)));
        head.append(heard);
      }
      row.append(head, ask.text ? prose(ask.text, words) : make("div", { className: "soft" }, "(no words)"));
      return row;
    });
    function lead(other) {
      for (const row of rows) row.classList.toggle("lit", row === rows[other]);
      rows[other].focus({ preventScroll: true });
      rows[other].scrollIntoView({ block: "nearest" });
    }
    list.append(...rows);
    const box = make("details", { className: "inside" }, make("summary", {}, `${plural(answer.asks.length, "ask")} inside`));
    const fill = () => box.childElementCount < 2 && box.append(list);
    box.ontoggle = fill;
    if (answer.asks.some((ask) => words.some((word) => found.has(word) && holds(ask.place, word)))) {
      box.open = true;
      fill();
    }
    return box;
  }

  function whole(item, words, within) {
    const body = make("div", { className: "body" });
    const about = make("p", { className: "soft" }, ...[item.topic, ...item.tags].filter(Boolean).flatMap((word) => [word, " · "]),
      make("a", { href: `#item=${encodeURIComponent(item.id)}` }, "link to this item"));
    body.append(about, make("h3", {}, "Question"), prose(item.question, words), make("h3", {}, "Accepted answer"), prose(item.target, words));
    const rows = item.answers.map((answer) => {
      const costs = [answer.calls ? plural(answer.calls, "call") : "", answer.usd === null ? "" : `${figure(answer.usd)} USD`,
        answer.seconds === null ? "" : `${figure(answer.seconds)} s`].filter(Boolean);
      const states = [KINDS[answer.kind][1] + (answer.kind === "part" ? ` (${figure(answer.grade)})` : ""),
        ["ok", "full", "answered", "failed", "abstained", ""].includes(answer.state) ? "" : answer.state].filter(Boolean);
      return make("tr", {},
        make("th", { scope: "row" }, named(answer), make("span", { className: "arm" }, answer.arm), make("span", { className: "soft" }, states.join(", "))),
        make("td", { className: "said" }, answer.text ? prose(answer.text, words) : make("span", { className: "soft" }, "(no answer)"),
          answer.note ? make("div", { className: "reason" }, answer.note) : null,
          answer.asks.length ? inside(answer, within ? words : []) : null),
        make("td", { className: "costs" }, ...costs.map((cost) => make("div", {}, cost))));
    });
    body.append(make("table", { className: "answers" },
      make("thead", {}, make("tr", {}, ...["arm", "answer", "cost"].map((name) => make("th", { scope: "col" }, name)))),
      make("tbody", {}, ...rows)));
    return body;
  }

  function browse(place, rows) {
    const items = rows.map(read);
    const arms = [...new Set(items.flatMap((item) => item.answers.map((answer) => answer.arm)))];
    const count = (lists) => lists.flat().reduce((sums, name) => sums.set(name, (sums.get(name) ?? 0) + 1), new Map());
    const topics = count(items.map((item) => item.topic));
    const tags = [...count(items.map((item) => item.tags))].sort(([, a], [, b]) => b - a).map(([tag]) => tag);
    const inner = items.some((item) => item.inner.length);
    const wanted = { words: [], tags: new Set(), open: new Set(), first: 0, shown: items };

    const field = make("input", { type: "search", placeholder: "Search questions and answers  ( / )", "aria-label": "Search questions and answers", spellcheck: false, autocomplete: "off" });
    const within = make("input", { type: "checkbox" });
    const choice = (label, options) => {
      const select = make("select", {}, ...options.map(([value, text]) => make("option", { value }, text)));
      return [select, make("label", {}, make("span", {}, label), select)];
    };
    const any = ["", "any arm"];
    const names = arms.map((arm, i) => [String(i), arm]);
    const [topic, topicBox] = choice("topic", [["", `all (${items.length.toLocaleString("en")})`],
      ...[...topics].sort(([a], [b]) => natural.compare(a, b)).map(([name, sum], i) => [String(i + 1), `${name || "(none)"} (${sum.toLocaleString("en")})`])]);
    const topicNames = [...topics.keys()].sort(natural.compare);
    const [right, rightBox] = choice("right", [any, ...names]);
    const [wrong, wrongBox] = choice("not right", [any, ...names]);
    const [order, orderBox] = choice("order", Object.entries(ORDERS).map(([value, [text]]) => [value, text]));
    const chips = tags.map((tag) => make("button", { type: "button", className: "chip", "aria-pressed": "false" }, make("span", {}, tag), " ", make("span", { className: "sum" })));
    const status = make("span", { role: "status" });
    const clear = make("button", { type: "button", className: "more" }, "clear filters");
    const kinds = new Set(items.flatMap((item) => item.answers.map((answer) => answer.kind)));
    const legend = make("span", { className: "legend" }, ...Object.entries(KINDS).filter(([name]) => kinds.has(name)).map(([name, [sign, text]]) =>
      make("span", {}, make("span", { className: `mark ${name}`, "aria-hidden": "true" }, sign), text)));
    const list = make("ol", { className: "list" });
    const heads = make("div", { className: "heads", "aria-hidden": "true" }, ...arms.map((arm) => make("span", { title: arm }, make("span", {}, arm))));
    const pagers = [0, 1].map((end) => {
      const before = make("button", { type: "button", onclick: () => turn(-1, end) }, "‹ previous");
      const after = make("button", { type: "button", onclick: () => turn(1, end) }, "next ›");
      const where = make("span", { className: "soft" });
      return { before, after, where, box: make("nav", { className: "pager", "aria-label": "pages of the list" }, before, where, after) };
    });
    place.classList.toggle("topical", topics.size > 1);
    place.classList.toggle("many", arms.length > 10);
    place.classList.toggle("most", arms.length > 24);
    place.append(
      make("div", { className: "tools", role: "search" }, field, inner ? make("label", { className: "check" }, within, "in members’ replies too") : null),
      make("div", { className: "tools" }, topics.size > 1 ? topicBox : null, ...(arms.length ? [rightBox, wrongBox] : []), orderBox),
      make("div", { className: "tools chips" }, ...chips),
      make("div", { className: "tools" }, make("span", { className: "count" }, status, clear), legend),
      make("div", { className: "top" }, pagers[0].box, heads), list, pagers[1].box);

    function matches(item) {
      const held = (word) => item.own.some((text) => holds(text, word)) || (within.checked && item.inner.some((text) => holds(text, word)));
      return (topic.value === "" || item.topic === topicNames[topic.value - 1])
        && (right.value === "" || item.byArm.get(arms[right.value])?.kind === "right")
        && (wrong.value === "" || !["right", "ungraded", undefined].includes(item.byArm.get(arms[wrong.value])?.kind))
        && [...wanted.tags].every((tag) => item.tags.includes(tag))
        && wanted.words.every(held);
    }

    function filter() {
      wanted.words = [...new Set(field.value.toLowerCase().split(/\s+/).filter(Boolean))];
      search(wanted.words);
      wanted.shown = items.filter(matches).sort(ORDERS[order.value][1]);
      wanted.first = 0;
      const sums = count(wanted.shown.map((item) => item.tags));
      chips.forEach((chip, i) => {
        chip.lastChild.textContent = (sums.get(tags[i]) ?? 0).toLocaleString("en");
        chip.setAttribute("aria-pressed", wanted.tags.has(tags[i]));
      });
      const narrowed = wanted.words.length > 0 || wanted.tags.size > 0 || [topic, right, wrong].some((select) => select.value !== "");
      status.textContent = narrowed ? `${wanted.shown.length.toLocaleString("en")} of ${plural(items.length, "item")}` : plural(items.length, "item");
      clear.hidden = !narrowed;
      render();
    }

    function row(item) {
      const details = make("details", {});
      const fill = () => details.childElementCount < 2 && details.append(whole(item, wanted.words, within.checked));
      const start = item.question.slice(0, 1200).replace(/\s+/g, " ").trim();
      details.append(make("summary", {}, make("span", { className: "id", title: item.id }, ...marked(short(item.id, 80), wanted.words)),
        topics.size > 1 ? make("span", { className: "topic", title: item.topic }, item.topic) : null,
        make("span", { className: "start" }, ...marked(short(start, 220), wanted.words)), strip(item, arms)));
      if (wanted.open.has(item.place)) {
        fill();
        details.open = true;
      }
      details.addEventListener("toggle", (event) => {
        if (event.target !== details) return;
        if (details.open) fill();
        wanted.open[details.open ? "add" : "delete"](item.place);
      });
      return make("li", {}, details);
    }

    function render() {
      const { first, shown } = wanted;
      const last = Math.min(first + PAGE, shown.length);
      list.replaceChildren(...shown.slice(first, last).map(row));
      if (!shown.length) list.append(make("li", { className: "none soft" }, items.length ? "No item is like this." : "There are no items."));
      heads.hidden = !shown.length;
      for (const { before, after, where, box } of pagers) {
        box.hidden = shown.length <= PAGE;
        before.disabled = first === 0;
        after.disabled = last === shown.length;
        where.textContent = `${(first + 1).toLocaleString("en")}–${last.toLocaleString("en")} of ${shown.length.toLocaleString("en")}`;
      }
    }

    function turn(by, end = 0) {
      const first = wanted.first + by * PAGE;
      if (first < 0 || first >= wanted.shown.length) return false;
      wanted.first = first;
      render();
      if (end) list.scrollIntoView({ block: "start" });
      return true;
    }

    function move(by) {
      const lines = [...list.querySelectorAll(":scope > li > details > summary")];
      const now = lines.findIndex((line) => line.parentNode.contains(document.activeElement));
      const next = now < 0 ? (by > 0 ? 0 : lines.length - 1) : now + by;
      if (next >= 0 && next < lines.length) lines[next].focus();
      else if (turn(by)) [...list.querySelectorAll(":scope > li > details > summary")].at(by > 0 ? 0 : -1)?.focus();
    }

    function reset() {
      field.value = "";
      for (const select of [topic, right, wrong]) select.value = "";
      wanted.tags.clear();
      filter();
    }

    function open(id) {
      const item = items.find((each) => each.id === id);
      if (!item) return false;
      if (!wanted.shown.includes(item)) reset();
      const at = wanted.shown.indexOf(item);
      wanted.first = at - (at % PAGE);
      wanted.open.add(item.place);
      render();
      const line = list.children[at % PAGE].querySelector("summary");
      line.focus({ preventScroll: true });
      line.scrollIntoView({ block: "start" });
      return true;
    }

    let timer = 0;
    field.oninput = () => { clearTimeout(timer); timer = setTimeout(filter, 120); };
    field.onkeydown = (event) => {
      if (event.isComposing || !["Enter", "ArrowDown"].includes(event.key)) return;
      event.preventDefault();
      clearTimeout(timer);
      filter();
      move(1);
    };
    for (const control of [topic, right, wrong, order, within]) control.onchange = filter;
    chips.forEach((chip, i) => { chip.onclick = () => { wanted.tags[wanted.tags.has(tags[i]) ? "delete" : "add"](tags[i]); filter(); }; });
    clear.onclick = () => { reset(); field.focus(); };
    filter();
    return { place, field, list, move, open };
  }

  const blocks = places.map((place, i) => {
    waiting[i].remove();
    return browse(place, data.blocks[place.dataset.items]);
  });

  document.addEventListener("keydown", (event) => {
    const at = document.activeElement;
    if (event.ctrlKey || event.metaKey || event.altKey || event.isComposing || at.matches("input, select, textarea")) return;
    const block = blocks.find(({ place }) => place.contains(at)) ?? blocks[0];
    const by = { j: 1, k: -1, ArrowDown: 1, ArrowUp: -1 }[event.key];
    if (event.key === "/") block.field.focus();
    else if (by && (event.key.length === 1 || (at.matches("summary") && block.list.contains(at)))) block.move(by);
    else return;
    event.preventDefault();
  });

  function follow() {
    const coded = /^#item=(.*)$/.exec(location.hash)?.[1];
    if (coded === undefined) return;
    let id = coded;
    try { id = decodeURIComponent(coded); } catch { /* it is no code: it is taken as it stands */ }
    blocks.some((block) => block.open(id));
  }
  addEventListener("hashchange", follow);
  follow();
})();
