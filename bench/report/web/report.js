// SPDX-License-Identifier: BSD-2-Clause
// The plots of a report. Everything shown comes from the JSON in #data, and goes in as text only.
(function () {
"use strict";
const records = JSON.parse(document.getElementById("data").textContent);
const plots = [];

function ink(name) {
	return getComputedStyle(document.documentElement).getPropertyValue("--" + name).trim();
}

function median(list) {
	const s = list.filter(Number.isFinite).sort((x, y) => x - y);
	if (!s.length)
		return NaN;
	return (s[(s.length - 1) >> 1] + s[s.length >> 1]) / 2;
}

function quantile(sorted, q) {
	return sorted[Math.min(sorted.length - 1, Math.max(0, Math.round(q * (sorted.length - 1))))];
}

function short(x) {
	if (x == null || !Number.isFinite(x))
		return "";
	const a = Math.abs(x);
	return a >= 1e6 ? (x / 1e6) + "M" : a >= 1e3 ? (x / 1e3) + "k" : String(+x.toPrecision(4));
}

function axis(label, more) {
	return Object.assign({
		label: label, stroke: () => ink("ink"), grid: { stroke: () => ink("line"), width: 1 },
		ticks: { stroke: () => ink("line") }, font: "12px system-ui, sans-serif",
		labelFont: "12px system-ui, sans-serif", labelSize: 22, size: 52,
		values: (u, list) => list.map(short),
	}, more);
}

// A figure below @parent; @draw(width, element) returns a uPlot. Drawn again when colours change.
function figure(parent, caption, draw, wide) {
	const f = document.createElement("figure"), box = document.createElement("div");
	const text = document.createElement("figcaption");

	if (wide)
		f.className = "wide";
	box.setAttribute("role", "img");
	box.setAttribute("aria-label", caption);
	text.textContent = caption;
	f.append(box, text);
	parent.append(f);
	plots.push({ box: box, draw: draw, plot: null });
}

function drawAll() {
	for (const p of plots) {
		if (p.plot)
			p.plot.destroy();
		p.plot = p.draw(Math.max(280, Math.floor(p.box.clientWidth)), p.box);
	}
}

function dots(label, colour, size) {
	return { label: label, stroke: () => ink(colour), fill: () => ink(colour), paths: () => null,
		points: { show: true, size: size || 4, stroke: () => ink(colour), fill: () => ink(colour) } };
}

function line(label, colour, points, dash) {
	return { label: label, stroke: () => ink(colour), width: 2, dash: dash,
		points: { show: !!points, size: 6, fill: () => ink(colour) } };
}

// Vertical whiskers of series @idx from lows[idx] to highs[idx].
function whiskers(lows, highs, colours) {
	return { hooks: { draw: [u => {
		const c = u.ctx;
		c.save();
		c.lineWidth = 2 * devicePixelRatio;
		lows.forEach((low, s) => {
			c.strokeStyle = ink(colours[s]);
			low.forEach((y, i) => {
				if (y == null || highs[s][i] == null)
					return;
				const x = u.valToPos(u.data[0][i], "x", true);
				c.beginPath();
				c.moveTo(x, u.valToPos(y, "y", true));
				c.lineTo(x, u.valToPos(highs[s][i], "y", true));
				c.stroke();
			});
		});
		c.restore();
	}] } };
}

function rangeOf(values, pad) {
	const s = values.filter(Number.isFinite);
	let lo = Math.min(...s), hi = Math.max(...s);
	const d = (hi - lo) * pad || Math.abs(hi) * .05 || 1;
	return [lo - d, hi + d];
}

// Intervals of several rows, one below the other: @rows [{name, mid, lo, hi}].
function intervals(parent, caption, rows, unit, marks) {
	const n = rows.length;
	const range = rangeOf([].concat(...rows.map(r => [r.lo, r.hi, r.mid]), marks), .06);

	figure(parent, caption, (width, box) => {
		const names = Math.min(width / 2, 20 + 7 * Math.max(...rows.map(r => r.name.length)));
		return new uPlot({
			width: width, height: 90 + 26 * n, legend: { show: false },
			cursor: { show: false },
			scales: { x: { time: false, range: range }, y: { range: [-.6, n - .4] } },
			axes: [axis(unit), axis(null, { size: names, grid: { show: false }, gap: 6,
				splits: () => rows.map((r, i) => n - 1 - i),
				values: () => rows.map(r => r.name.length > names / 7 ?
					r.name.slice(0, Math.floor(names / 7) - 1) + "\u2026" : r.name) })],
			series: [{}, { paths: () => null, points: { show: false } }],
			hooks: { draw: [u => {
				const c = u.ctx, dpr = devicePixelRatio;
				c.save();
				c.lineWidth = dpr;
				c.setLineDash([4 * dpr, 4 * dpr]);
				c.strokeStyle = ink("faint");
				for (const m of marks) {
					const x = u.valToPos(m, "x", true);
					c.beginPath();
					c.moveTo(x, u.bbox.top);
					c.lineTo(x, u.bbox.top + u.bbox.height);
					c.stroke();
				}
				c.setLineDash([]);
				rows.forEach((r, i) => {
					const y = u.valToPos(n - 1 - i, "y", true), x = u.valToPos(r.mid, "x", true);
					c.strokeStyle = c.fillStyle = ink(r.colour || "a");
					c.lineWidth = 2.5 * dpr;
					if (Number.isFinite(r.lo) && Number.isFinite(r.hi)) {
						c.beginPath();
						c.moveTo(u.valToPos(r.lo, "x", true), y);
						c.lineTo(u.valToPos(r.hi, "x", true), y);
						c.stroke();
					}
					c.beginPath();
					c.arc(x, y, 4 * dpr, 0, 7);
					c.fill();
				});
			}] },
		}, [[range[0], range[1]], [null, null]], box);
	}, true);
}

// Samples in time order: @groups [{label, colour, t: [], y: []}].
function overTime(parent, caption, groups, unit) {
	const t = [...new Set([].concat(...groups.map(g => g.t)))].sort((x, y) => x - y);
	const at = new Map(t.map((x, i) => [x, i]));
	const columns = groups.map(g => {
		const y = new Array(t.length).fill(null);
		g.t.forEach((x, i) => { y[at.get(x)] = g.y[i]; });
		return y;
	});
	const all = [].concat(...groups.map(g => g.y)).filter(Number.isFinite).sort((x, y) => x - y);
	const top = Math.min(quantile(all, .98), 4 * median(all)), above = all.filter(y => y > top * 1.1).length;

	figure(parent, caption + (above ? "; " + above + " of " + all.length + " lie above" : ""),
		(width, box) => new uPlot({
			width: width, height: 260, cursor: { show: false },
			scales: { x: { time: false }, y: { range: [Math.min(0, all[0]), top * 1.1] } },
			axes: [axis("seconds"), axis(unit)],
			series: [{ label: "time" }].concat(groups.map(g => dots(g.label, g.colour, 3.5))),
		}, [t].concat(columns), box));
}

function histogram(parent, caption, values, unit, marks) {
	const s = values.filter(Number.isFinite).sort((x, y) => x - y);
	if (s.length < 8)
		return;
	const lo = quantile(s, .01), hi = quantile(s, .99), n = Math.min(40, Math.ceil(Math.sqrt(s.length)) + 4);
	const step = (hi - lo) / n || 1, x = [], y = [];
	for (let i = 0; i < n; i++) {
		x.push(lo + (i + .5) * step);
		y.push(0);
	}
	for (const v of s)
		if (v >= lo && v <= hi)
			y[Math.min(n - 1, Math.floor((v - lo) / step))]++;
	figure(parent, caption + ", without the outer 1 % on either side; dashed: median", (width, box) => new uPlot({
		width: width, height: 260, cursor: { show: false }, legend: { show: false },
		scales: { x: { time: false, range: [lo - step, hi + step] }, y: { range: [0, Math.max(...y) * 1.05] } },
		axes: [axis(unit), axis("count")],
		series: [{}, { stroke: () => ink("a"), fill: () => ink("a"),
			paths: uPlot.paths.bars({ size: [.92] }), points: { show: false } }],
		hooks: { draw: [u => {
			const c = u.ctx, dpr = devicePixelRatio;
			c.save();
			c.strokeStyle = ink("b");
			c.lineWidth = 2 * dpr;
			c.setLineDash([5 * dpr, 4 * dpr]);
			for (const m of marks) {
				c.beginPath();
				c.moveTo(u.valToPos(m, "x", true), u.bbox.top);
				c.lineTo(u.valToPos(m, "x", true), u.bbox.top + u.bbox.height);
				c.stroke();
			}
		}] },
	}, [x, y], box));
}

// Time of a batch over its operations, of the program and of the null program, and the lines through them.
function fit(parent, record) {
	const s = record.samples, groups = { full: new Map(), null: new Map() };
	const trigger = [];

	s.ns.forEach((ns, i) => {
		if (s.arm[i] === "trigger")
			trigger.push(ns / 1000 / Math.max(1, s.ops[i]));
		else if (groups[s.arm[i]])
			groups[s.arm[i]].set(s.ops[i], (groups[s.arm[i]].get(s.ops[i]) || []).concat(ns / 1000));
	});
	const x = [...new Set([0, ...groups.full.keys(), ...groups.null.keys()])].sort((p, q) => p - q);
	const points = g => x.map(ops => g.has(ops) ? median(g.get(ops)) : null);
	const through = g => {
		const k = [...g.keys()].sort((p, q) => p - q);
		if (k.length < 2)
			return x.map(() => null);
		const lo = k[0], hi = k[k.length - 1], y0 = median(g.get(lo)), y1 = median(g.get(hi));
		return x.map(ops => ops > hi ? null : y0 + (y1 - y0) * (ops - lo) / (hi - lo));
	};
	const zero = trigger.length ? x.map(ops => ops ? null : median(trigger)) : null;
	figure(parent, "Time of a batch over its operations (medians): the slope is the cost of one, where the line " +
		"meets 0 is the trigger's", (width, box) => new uPlot({
		width: width, height: 260, cursor: { show: false },
		scales: { x: { time: false } },
		axes: [axis("operations in the batch"), axis("\u00b5s")],
		series: [{ label: "ops" }, dots("program", "a", 8), line("its line", "a"),
			dots("null program", "b", 8), line("its line", "b")].concat(zero ? [dots("bare trigger", "c", 8)] : []),
	}, [x, points(groups.full), through(groups.full), points(groups.null), through(groups.null)].concat(
		zero ? [zero] : []), box));
}

function resultPlots(parent, r) {
	const s = r.samples, pick = (arm, size) => s.t.map((t, i) => i).filter(
		i => s.arm[i] === arm && s.size[i] === size);
	const group = (label, colour, arm, size) => {
		const idx = pick(arm, size);
		return { label: label, colour: colour, t: idx.map(i => s.t[i]),
			y: idx.map(i => s.ns[i] / s.ops[i] / r.per) };
	};
	const full = group("program, N", "a", "full", "N");

	if (!full.t.length)
		return;
	overTime(parent, "Batches in time order, nothing subtracted",
		[full, group("program, N/8", "d", "full", "N/8"), group("null program, N", "b", "null", "N")],
		"ns per event");
	histogram(parent, "Distribution of batch averages", full.y, "ns per event", [median(full.y)]);
	fit(parent, r);
}

function comparePlots(parent, r) {
	const s = r.samples, arms = [["A", "a"], ["B", "b"], ["control", "c"]];
	const groups = arms.map(([arm, colour]) => {
		const idx = s.t.map((t, i) => i).filter(i => s.arm[i] === arm && !s.null[i]);
		return { label: arm, colour: colour, t: idx.map(i => s.t[i]), y: idx.map(i => s.ns[i] / s.ops[i]) };
	}).filter(g => g.t.length);
	const quads = new Map();

	if (!groups.length)
		return;
	s.ns.forEach((ns, i) => {
		if (s.null[i] || s.arm[i] === "control")
			return;
		const q = quads.get(s.quad[i]) || quads.set(s.quad[i], { A: 0, B: 0, n: 0 }).get(s.quad[i]);
		q[s.arm[i]] += Math.log(ns) / 2;
		q.n++;
	});
	const ratios = [...quads.values()].filter(q => q.n === 4).map(q => 100 * Math.expm1(q.B - q.A));
	overTime(parent, "Batches in time order, nothing subtracted", groups, "ns per operation");
	histogram(parent, "Quads: B against A, nothing subtracted", ratios, "%", [median(ratios)]);
}

// Results that differ in one parameter only, as lines over it.
function sweeps(parent, list) {
	for (const name of new Set([].concat(...list.map(r => Object.keys(r.params))))) {
		const benches = new Map();
		for (const r of list) {
			if (!(name in r.params))
				continue;
			const rest = Object.keys(r.params).filter(k => k !== name && !(k === "producers" && r.params[k] === 1))
				.sort().map(k => k + "=" + r.params[k]);
			const key = [r.target].concat(rest).join(", ");
			const lines = benches.get(r.bench) || benches.set(r.bench, new Map()).get(r.bench);
			lines.set(key, (lines.get(key) || new Map()).set(r.params[name], r));
		}
		for (const [bench, lines] of benches) {
			const x = [...new Set([].concat(...[...lines.values()].map(l => [...l.keys()])))].sort((p, q) => p - q);
			if (x.length < 2)
				continue;
			sweep(parent, bench, name, x, lines);
		}
	}
}

function sweep(parent, bench, name, x, lines) {
	const keys = [...lines.keys()], colours = keys.map((k, i) => "abcd"[i % 4]);
	const column = get => keys.map(k => x.map(v => lines.get(k).has(v) ? get(lines.get(k).get(v)) : null));
	const mid = column(r => r.est[0]), lo = column(r => r.est[1]), hi = column(r => r.est[2]);
	const log = x[0] > 0 && x[x.length - 1] / x[0] >= 10;
	const range = rangeOf([].concat(...lo, ...hi, ...mid), .08);

	figure(parent, bench + ": cost of one event over " + name + ", with 95 % intervals", (width, box) => new uPlot(
		Object.assign({
			width: width, height: 320, cursor: { show: false },
			scales: { x: { time: false, distr: log ? 3 : 1 }, y: { range: [Math.min(range[0], 0), range[1]] } },
			axes: [axis(name, x.length <= 12 ? { splits: () => x } : {}), axis("ns per event")],
			series: [{ label: name }].concat(keys.map((k, i) => line(k, colours[i], true, i < 4 ? [] : [6, 4]))),
		}, whiskers(lo, hi, colours)), [x].concat(mid), box), true);
}

// The same bench and target at several times.
function trends(parent, list) {
	const keys = new Map();

	for (const r of list)
		if (Number.isFinite(r.time) && Number.isFinite(r.est[0]))
			keys.set(r.label + " on " + r.target, (keys.get(r.label + " on " + r.target) || []).concat(r));
	for (const [key, runs] of keys) {
		if (new Set(runs.map(r => r.time)).size < 3)
			continue;
		runs.sort((p, q) => p.time - q.time);
		const lo = [runs.map(r => r.est[1])], hi = [runs.map(r => r.est[2])];
		const range = rangeOf([].concat(lo[0], hi[0], runs.map(r => r.est[0])), .1);
		figure(parent, key + ": " + runs.length + " runs over time", (width, box) => new uPlot(Object.assign({
			width: width, height: 280, cursor: { show: false }, legend: { show: false },
			scales: { x: { time: true }, y: { range: [Math.max(0, range[0]), range[1]] } },
			axes: [axis("time of the run", { values: undefined }), axis("ns per event")],
			series: [{}, line("ns per event", "a", true)],
		}, whiskers(lo, hi, ["a"])), [runs.map(r => r.time), runs.map(r => r.est[0])], box), true);
	}
}

function sheetPlots(section) {
	const first = +section.dataset.first, list = records.slice(first, first + +section.dataset.count);
	const parent = section.querySelector(".plots");

	if (list.length && list[0].kind === "result") {
		const rows = list.filter(r => r.est[0] != null).map(r => ({
			name: r.label + " on " + r.target, mid: r.est[0], lo: r.est[1] ?? NaN, hi: r.est[2] ?? NaN }));
		if (rows.length)
			intervals(parent, "Cost of one event and its 95 % interval, in ns", rows, "ns per event", []);
		sweeps(parent, list);
		trends(parent, list);
	} else if (list.length && list[0].kind === "compare") {
		const m = 100 * (list[0].margin || 0);
		const rows = list.filter(r => r.ratio != null).map(r => ({
			name: r.label, mid: 100 * (r.ratio - 1), lo: 100 * ((r.lo ?? NaN) - 1), hi: 100 * ((r.hi ?? NaN) - 1),
			colour: r.verdict === "faster" ? "c" : r.verdict === "slower" ? "b" : "a" }));
		if (rows.length)
			intervals(parent, "B against A and the 95 % interval, in %; dashed: no difference, and the margin",
				rows, "% (less is faster)", [-m, 0, m]);
	}
	for (const r of list) {
		const box = document.getElementById("record-" + r.id);
		if (!box || !r.samples)
			continue;
		(r.kind === "result" ? resultPlots : comparePlots)(box, r);
	}
}

document.querySelectorAll("section[data-first]").forEach(sheetPlots);
drawAll();
matchMedia("(prefers-color-scheme: dark)").addEventListener("change", drawAll);
addEventListener("beforeprint", drawAll);
addEventListener("afterprint", drawAll);
let timer;
addEventListener("resize", () => { clearTimeout(timer); timer = setTimeout(drawAll, 150); });
document.documentElement.dataset.drawn = plots.length;
})();
