// Draws the charts of a page with Observable Plot, and again whenever their width changes.
(() => {
  "use strict";
  const charts = JSON.parse(document.getElementById("charts").textContent);
  const colours = [0, 1, 2, 3, 4, 5, 6].map((i) => `var(--c${i})`);
  const share = (value) => (value == null ? "" : `${(100 * value).toFixed(1)} %`);
  const figure = (value) => (typeof value !== "number" ? value ?? "" : Math.abs(value) >= 100 ? value.toFixed(0)
    : Number(value.toPrecision(3)).toString());
  const mantissa = (value) => Number(value.toExponential(0).split("e")[0]);
  const marks = (width) => (width < 600 ? [1] : [1, 2, 5]);
  const whole = (values, most) => d3.ticks(d3.min(values), d3.max(values), Math.max(3, most)).filter(Number.isInteger);
  const short = (text, most) => (text.length > most ? `${text.slice(0, most - 1)}…` : text);
  const objects = (chart) => chart.rows.map((row) => Object.fromEntries(row.map((cell, i) => [chart.columns[i], cell])));
  const shown = (chart, axis) => (chart.percent.includes(axis) ? share : figure);

  // Every column of a row, for the pointer.
  const words = (chart) => (row) => chart.columns.filter((name) => row[name] != null && name !== "joined")
    .map((name) => `${name}: ${shown(chart, ["low", "high"].includes(name) ? "y" : name)(row[name])}`).join("\n");

  function keys(chart, names, colour) {
    const box = document.createElement("div");
    box.className = "keys";
    for (const name of names) {
      const key = box.appendChild(document.createElement("span"));
      key.textContent = name;
      key.style.setProperty("--key", colour(name));
    }
    return box;
  }

  // An axis whose lines across are named at the right end, inside the frame, where nothing is cut off.
  const across = (chart) => chart.rules.flatMap((rule) => [
    Plot.ruleY([rule.value], { stroke: "currentColor", strokeDasharray: "4,3", strokeOpacity: 0.7 }),
    Plot.text([rule], { y: "value", frameAnchor: "right", text: (d) => d.label, textAnchor: "end", dy: -7, dx: -3,
      fill: "currentColor", stroke: "var(--paper)", strokeWidth: 4 }),
  ]);
  const axes = (chart, width) => ({
    width, height: Math.min(420, Math.max(280, width * 0.5)), marginLeft: 52, marginBottom: 44, marginRight: 20, marginTop: 24,
    style: { background: "transparent", fontSize: "12px", color: "inherit", overflow: "visible" },
    x: { label: chart.x, labelAnchor: "center", labelArrow: "none", ticks: Math.max(3, Math.floor(width / 90)),
      ...(chart.logarithmic ? { type: "log", tickFormat: (v) => (marks(width).includes(mantissa(v)) ? figure(v) : "") } : {}),
      ...(chart.rows.every((row) => Number.isInteger(row[0])) ? { ticks: whole(chart.rows.map((row) => row[0]), width / 90), tickFormat: figure } : {}),
      ...(chart.percent.includes("x") ? { tickFormat: (v) => `${Math.round(100 * v)} %` } : {}) },
    y: { label: chart.y, grid: true, labelArrow: "none", nice: true, ...(chart.percent.includes("y")
      ? { tickFormat: (v) => `${Number((100 * v).toFixed(1))} %` } : {}) },
  });

  // The labels of points, each near its own where it covers least: never outside the frame, and if there is room not on
  // points, bars, the line or other labels.
  function beside(chart, rows, joined, drawn, width) {
    const pen = document.createElement("canvas").getContext("2d");
    pen.font = "12px system-ui, sans-serif";
    const [x, y] = [drawn.scale("x"), drawn.scale("y")];
    const [[left, right], [bottom, top]] = [x.range, y.range];
    const box = (x1, y1, x2, y2) => ({ x1, y1, x2, y2 });
    const shared = (a, b) => Math.max(0, Math.min(a.x2, b.x2) - Math.max(a.x1, b.x1)) * Math.max(0, Math.min(a.y2, b.y2) - Math.max(a.y1, b.y1));
    const spots = rows.map((row) => [x.apply(row.x), y.apply(row.y)]);
    const taken = spots.map(([px, py]) => box(px - 5, py - 5, px + 5, py + 5));
    rows.forEach((row, i) => {
      if (row.low != null && row.high != null) taken.push(box(spots[i][0] - 2, y.apply(row.high), spots[i][0] + 2, y.apply(row.low)));
    });
    joined.slice(1).forEach((row, i) => {
      const [x1, y1, x2, y2] = [x.apply(joined[i].x), y.apply(joined[i].y), x.apply(row.x), y.apply(row.y)];
      taken.push(box(x1, y1 - 1, x2, y1 + 1), box(x2 - 1, Math.min(y1, y2), x2 + 1, Math.max(y1, y2)));
    });
    for (const rule of chart.rules) {
      const at = y.apply(rule.value);
      taken.push(box(right - pen.measureText(rule.label).width - 6, at - 15, right, at + 1));
    }
    return rows.flatMap((row, i) => {
      if (!row.label) return [];
      const text = short(String(row.label), Math.max(12, Math.floor(width / 22)));
      const wide = pen.measureText(text).width + 4;
      const ways = [0, -14, 14, -28, 28, -42, 42, -56, 56].flatMap((dy) => [["start", 8, dy], ["end", -8, dy],
        ...(dy ? [["middle", 0, dy]] : [])]);
      const tried = ways.map(([anchor, dx, dy]) => {
        const [px, py] = [spots[i][0] + dx, spots[i][1] + dy];
        const x1 = anchor === "start" ? px : anchor === "end" ? px - wide : px - wide / 2;
        const own = box(x1, py - 8, x1 + wide, py + 8);
        const outside = Math.max(0, left - own.x1) + Math.max(0, own.x2 - right) + Math.max(0, top - own.y1) + Math.max(0, own.y2 - bottom);
        return { anchor, dx, dy, own, bad: taken.reduce((sum, other) => sum + shared(own, other), 0) + 1000 * outside + 3 * Math.abs(dy) };
      });
      const best = tried.reduce((a, b) => (b.bad < a.bad ? b : a));
      taken.push(best.own);
      return [Plot.text([row], { x: "x", y: "y", text: () => text, textAnchor: best.anchor, dx: best.dx, dy: best.dy, fill: "currentColor",
        stroke: "var(--paper)", strokeWidth: 4 })];
    });
  }

  const draw = {
    lines(chart, width) {
      const rows = objects(chart);
      const names = [...new Set(rows.map((row) => row.series ?? ""))];
      const colour = (name) => colours[names.indexOf(name) % colours.length];
      const drawn = Plot.plot({ ...axes(chart, width), marks: [
        ...(chart.diagonal ? [Plot.line([[0, 0], [1, 1]], { stroke: "currentColor", strokeDasharray: "4,3" })] : []),
        ...names.flatMap((name) => {
          const own = rows.filter((row) => (row.series ?? "") === name);
          return [
            ...(own.some((row) => row.low != null) ? [Plot.areaY(own, { x: "x", y1: "low", y2: "high", fill: colour(name), fillOpacity: 0.18 })] : []),
            Plot.line(own, { x: "x", y: "y", stroke: colour(name), strokeWidth: 2 }),
            ...(own.length <= 40 ? [Plot.dot(own, { x: "x", y: "y", fill: colour(name), r: 2.5 })] : []),
          ];
        }),
        ...across(chart),
        Plot.tip(rows, Plot.pointer({ x: "x", y: "y", title: words(chart) })),
      ] });
      return [names.length > 1 ? keys(chart, names, colour) : null, drawn];
    },

    points(chart, width) {
      const rows = objects(chart);
      const names = [...new Set(rows.map((row) => row.series))];
      const colour = (name) => colours[names.indexOf(name) % colours.length];
      const joined = rows.filter((row) => row.joined).sort((a, b) => a.x - b.x);
      const plot = (labels) => Plot.plot({ ...axes(chart, width), marks: [
        Plot.line(joined, { x: "x", y: "y", stroke: colours[0], strokeWidth: 1.5, curve: "step-after" }),
        Plot.ruleX(rows.filter((row) => row.low != null && row.high != null), { x: "x", y1: "low", y2: "high",
          stroke: (row) => colour(row.series), strokeWidth: 1.5, strokeOpacity: 0.6 }),
        Plot.dot(rows, { x: "x", y: "y", fill: (row) => colour(row.series), r: 4, symbol: (row) => row.series }),
        ...across(chart),
        ...labels,
        Plot.tip(rows, Plot.pointer({ x: "x", y: "y", title: words(chart) })),
      ] });
      const drawn = rows.length <= 15 ? plot(beside(chart, rows, joined, plot([]), width)) : plot([]);
      return [keys(chart, names, colour), drawn];
    },

    bars(chart, width) {
      const rows = objects(chart);
      const drawn = Plot.plot({ ...axes(chart, width), marks: [
        Plot.rectY(rows, { x1: (row) => row.x - 0.5, x2: (row) => row.x + 0.5, y: "y", inset: rows.length < width / 4 ? 0.5 : 0, fill: colours[0] }),
        Plot.ruleY([0]),
        Plot.tip(rows, Plot.pointerX({ x: "x", y: "y", title: words(chart) })),
      ] });
      return [null, drawn];
    },

    heat(chart, width) {
      const rows = objects(chart);
      const [across, down] = ["x", "y"].map((axis) => [...new Set(rows.map((row) => row[axis]))]);
      const longest = width < 600 ? 12 : 26;
      const room = Math.min(longest, Math.max(...down.map((name) => String(name).length)));
      const left = 12 + room * 6.6;
      const cell = (width - left - 8) / across.length;
      const tall = Math.min(Math.max(cell, 3), Math.max(5, 30 - down.length / 4));
      const height = Math.max(120, (across.length === down.length ? Math.min(cell, 56) : Math.max(tall, 12)) * down.length);
      const every = (count, space) => Math.max(1, Math.ceil((count * 13) / space));
      const ticks = (names, space) => names.filter((_, i) => i % every(names.length, space) === 0);
      const numbered = across.every((name) => String(name).length <= 4);
      const below = numbered ? 30 : 12 + Math.min(longest, Math.max(...across.map((name) => String(name).length))) * 6.6;
      const values = rows.map((row) => row.value).filter((value) => value != null);
      const drawn = Plot.plot({
        width, height: height + below + 10, marginLeft: left, marginBottom: below, marginRight: 8, marginTop: 10, padding: 0,
        style: { background: "transparent", fontSize: "11px", color: "inherit", overflow: "visible" },
        x: { domain: across, label: null, tickRotate: numbered ? 0 : -90, tickSize: 0, tickFormat: (name) => short(String(name), longest),
          ticks: ticks(across, numbered ? (width - left) / 2 : width - left) },
        y: { domain: down, label: null, tickSize: 0, tickFormat: (name) => short(String(name), longest), ticks: ticks(down, height) },
        color: { scheme: "viridis", domain: [Math.min(0, d3.min(values)), Math.max(1, d3.max(values))], unknown: "var(--line)" },
        marks: [
          Plot.cell(rows, { x: "x", y: "y", fill: "value", shapeRendering: "crispEdges" }),
          Plot.tip(rows, Plot.pointer({ x: "x", y: "y", title: words(chart) })),
        ],
      });
      const legend = Plot.legend({ color: { ...drawn.scale("color") }, width: Math.min(260, width), label: chart.y || null,
        style: { background: "transparent", color: "inherit" }, ...(chart.percent.includes("value") ? { tickFormat: (v) => `${Math.round(100 * v)} %` } : {}) });
      return [legend, drawn];
    },
  };

  const quoted = (cell) => (cell == null ? "" : /[",\n\r]/.test(String(cell)) ? `"${String(cell).replaceAll('"', '""')}"` : String(cell));
  for (const place of document.querySelectorAll("figure[data-chart]")) {
    const chart = charts[place.dataset.chart];
    const link = place.querySelector("a.data");
    const lines = [chart.columns, ...chart.rows].map((row) => row.map(quoted).join(","));
    link.href = URL.createObjectURL(new Blob([lines.join("\r\n") + "\r\n"], { type: "text/csv" }));
    link.download = `${chart.name}.csv`;
    const drawing = place.querySelector(".drawing");
    let width = 0;
    new ResizeObserver(() => {
      const now = Math.floor(drawing.clientWidth);
      if (now === width || now < 1) return;
      width = now;
      drawing.replaceChildren(...draw[chart.kind](chart, width).filter(Boolean));
    }).observe(drawing);
  }
})();
