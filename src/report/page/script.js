"use strict";
const data = JSON.parse(document.getElementById("data").textContent);

// Text comes in as text nodes alone, never as HTML.
function make(name, properties = {}, ...children) {
    const element = document.createElement(name);
    for (const [key, value] of Object.entries(properties)) element.setAttribute(key, value);
    element.append(...children);
    return element;
}

function button(label, press, properties = {}) {
    const element = make("button", { type: "button", ...properties }, label);
    element.addEventListener("click", press);
    return element;
}

const number = (value) => value.toLocaleString("en-US", { maximumSignificantDigits: 7, useGrouping: false });

function bytes(value) {
    const units = ["B", "KiB", "MiB", "GiB", "TiB", "PiB"];
    const power = Math.min(units.length - 1, Math.floor(Math.log2(Math.max(value, 1)) / 10));
    return `${(value / 1024 ** power).toFixed(power ? 1 : 0)} ${units[power]}`;
}

const isObject = (value) => value !== null && typeof value === "object";
const some = (object) => Object.entries(object).filter(([, value]) => value !== null);
const named = (key) => key.replaceAll("_", " ");

// Anything of a record: lists of objects as tables, other objects as names and values.
function shown(value, key = "") {
    if (Array.isArray(value)) {
        if (value.some(isObject)) return tabled(value);
        const separator = key === "command" ? " " : ", ";
        return value.slice(0, 24).join(separator) + (value.length > 24 ? ` … (${value.length})` : "");
    }
    if (isObject(value)) {
        const parts = some(value);
        const isFlat = !parts.some(([, part]) => isObject(part));
        return isFlat ? parts.map(([name, part]) => `${named(name)} ${shown(part, name)}`).join(", ") : facts(value);
    }
    if (typeof value !== "number") return String(value);
    return /bytes|memory/.test(key) ? bytes(value) : number(value);
}

function facts(object) {
    const list = make("dl", { class: "facts" });
    for (const [key, value] of some(object)) {
        const content = shown(value, key);
        const properties = content instanceof Element || content.length > 24 ? { class: "wide" } : {};
        list.append(make("div", properties, make("dt", {}, named(key)), make("dd", {}, content)));
    }
    return list;
}

function tabled(rows) {
    const keys = [...new Set(rows.flatMap((row) => some(row).map(([key]) => key)))];
    const cell = (row, key) => {
        const content = shown(row[key] ?? "", key);
        return make("td", typeof row[key] === "number" ? { class: "figure" } : {}, content);
    };
    const head = make("tr", {}, ...keys.map((key) => make("th", { scope: "col" }, named(key))));
    const body = rows.map((row) => make("tr", {}, ...keys.map((key) => cell(row, key))));
    return make("div", { class: "table" }, make("table", {}, make("thead", {}, head), make("tbody", {}, ...body)));
}

// Tables: rows are data, of which so many are in the page at a time. A row may have another one below it with its
// details, which goes where the row goes.

const SHOWN = 500;

const { compare } = new Intl.Collator("en", { numeric: true });

function compared(a, b) {
    return typeof a === "number" ? a - b : compare(a, b);
}

class Table {
    constructor(table) {
        this.heads = [...table.tHead.rows[0].cells];
        this.body = table.tBodies[0];
        this.opens = table.dataset.opens;
        const cells = (row) => [...row.cells].map((cell) => [cell.textContent, cell.dataset.value]);
        const here = [...this.body.rows].map((element) => ({ cells: cells(element), element }));
        const more = table.parentElement.querySelector("script");
        const others = more ? JSON.parse(more.textContent).map((cells) => ({ cells })) : [];
        this.rows = [...here, ...others];
        this.rows.forEach((row, place) => { row.place = place; });
        this.isCode = [...here[0].element.cells].map((cell) => cell.firstElementChild !== null);
        this.found = this.rows;
        this.sortable();
        if (others.length) this.pages(table.parentElement);
    }

    // The row as an element, which is made when it is first shown.
    element(row) {
        const cell = ([text, value], column) =>
            make("td", value === undefined ? {} : { class: "figure" }, this.isCode[column] ? make("code", {}, text) : text);
        row.element ??= make("tr", {}, ...row.cells.map(cell));
        if (this.press && !row.button) {
            row.button = button(row.cells[0][0], () => this.press(row), { [this.pressed]: "false" });
            row.element.cells[0].replaceChildren(row.button);
        }
        return row.element;
    }

    show(first = 0) {
        this.first = first;
        const shown = this.found.slice(first, first + SHOWN);
        this.body.replaceChildren(...shown.flatMap((row) => [this.element(row), row.details ?? []].flat()));
        this.turned?.(first + shown.length);
    }

    // Makes the first cell of each row a button, whose state is an attribute.
    openBy(press, state) {
        this.press = press;
        this.pressed = state;
        this.show();
    }

    sortable() {
        const isNone = (key) => Number.isNaN(key);
        const sort = (column) => {
            const rises = this.heads[column].getAttribute("aria-sort") !== "ascending";
            this.heads.forEach((head) => head.setAttribute("aria-sort", "none"));
            this.heads[column].setAttribute("aria-sort", rises ? "ascending" : "descending");
            const key = ([text, value]) => (value === undefined ? text : Number.parseFloat(value));
            const order = ([a], [b]) => isNone(a) - isNone(b) || (isNone(a) ? 0 : compared(a, b) * (rises ? 1 : -1));
            const sorted = (rows) => rows.map((row) => [key(row.cells[column]), row]).sort(order).map(([, row]) => row);
            // What has no figure stays at the end.
            this.rows = sorted(this.rows);
            this.found = sorted(this.found);
            this.show();
        };
        this.heads.forEach((head, column) => {
            const label = head.textContent;
            head.setAttribute("aria-sort", "none");
            head.replaceChildren(button(label, () => sort(column)));
        });
    }

    filterable() {
        const search = make("input", { type: "search" });
        const count = make("output");
        const controls = make("div", { class: "controls" }, make("label", {}, "Search", search));
        const choices = [];
        this.heads.forEach((head, column) => {
            const values = [...new Set(this.rows.map((row) => row.cells[column][0]))].sort();
            if (head.classList.contains("figure") || values.length < 2 || values.length > 50) return;
            const all = make("option", { value: "" }, "all");
            const select = make("select", {}, all, ...values.map((value) => make("option", { value }, value)));
            choices.push([column, select]);
            controls.append(make("label", {}, head.textContent, select));
        });
        const texts = new Map(this.rows.map((row) => [row, row.cells.map(([text]) => text).join(" ").toLowerCase()]));
        const filter = () => {
            const words = search.value.toLowerCase().split(/\s+/);
            const isChosen = (row) => choices.every(([column, { value }]) => !value || row.cells[column][0] === value);
            this.found = this.rows.filter((row) => words.every((word) => texts.get(row).includes(word)) && isChosen(row));
            count.value = `${this.found.length} of ${this.rows.length}`;
            this.show();
        };
        controls.addEventListener("input", filter);
        controls.append(count);
        filter();
        this.body.closest(".table").before(controls);
    }

    pages(region) {
        const earlier = button("Earlier rows", () => this.show(this.first - SHOWN));
        const later = button("Later rows", () => this.show(this.first + SHOWN));
        const place = make("output", { "aria-label": "Rows shown" });
        this.turned = (end) => {
            earlier.disabled = this.first === 0;
            later.disabled = end === this.found.length;
            place.value = `${Math.min(this.first + 1, end)} to ${end} of ${this.found.length}`;
        };
        region.after(make("div", { class: "controls" }, earlier, later, place));
        this.show();
    }
}

function opensRecords(table) {
    const records = data[table.opens] ?? data.record[table.opens];
    table.openBy((row) => {
        const content = () => make("td", { colspan: row.cells.length, class: "details" }, facts(records[row.place]));
        row.details = row.details ? undefined : make("tr", {}, content());
        row.button.setAttribute("aria-expanded", Boolean(row.details));
        table.show(table.first);
        row.button.focus();
    }, "aria-expanded");
}

// The picture: a part of it is in view, and boxes are chosen in it.

function zoomable(figure, more = "") {
    const svg = figure.querySelector("svg");
    const { x, y, width, height } = svg.viewBox.baseVal;
    const whole = { x, y, width, height };
    const view = { ...whole };
    const scale = make("output", { "aria-label": "Scale" });
    const within = (least, value, most) => Math.min(Math.max(value, least), most);
    const show = () => {
        view.x = within(whole.x, view.x, whole.x + whole.width - view.width);
        view.y = within(whole.y, view.y, whole.y + whole.height - view.height);
        svg.setAttribute("viewBox", `${view.x} ${view.y} ${view.width} ${view.height}`);
        scale.value = `${Math.round((100 * whole.width) / view.width)} %`;
        figure.classList.toggle("zoomed", view.width < whole.width);
    };
    const zoom = (factor, at = { x: view.x + view.width / 2, y: view.y + view.height / 2 }) => {
        const part = within(1 / 64, view.width / whole.width / factor, 1);
        const change = (part * whole.width) / view.width;
        view.x = at.x - (at.x - view.x) * change;
        view.y = at.y - (at.y - view.y) * change;
        view.width = part * whole.width;
        view.height = part * whole.height;
        show();
    };
    const move = (right, down) => {
        view.x += right;
        view.y += down;
        show();
    };
    const fit = () => zoom(0);
    const place = (left, top) => new DOMPoint(left, top).matrixTransform(svg.getScreenCTM().inverse());
    const centre = (element) => {
        const { left, top, width, height } = element.getBoundingClientRect();
        const at = place(left + width / 2, top + height / 2);
        move(at.x - view.x - view.width / 2, at.y - view.y - view.height / 2);
    };
    const keys = {
        "+": () => zoom(1.5),
        "=": () => zoom(1.5),
        "-": () => zoom(1 / 1.5),
        0: fit,
        ArrowLeft: () => move(-view.width / 8, 0),
        ArrowRight: () => move(view.width / 8, 0),
        ArrowUp: () => move(0, -view.height / 8),
        ArrowDown: () => move(0, view.height / 8),
    };
    onKeys(figure, keys);
    // The wheel scrolls the page, unless the picture was asked to listen.
    figure.addEventListener("wheel", (event) => {
        if (!event.ctrlKey && document.activeElement !== figure) return;
        event.preventDefault();
        zoom(event.deltaY < 0 ? 1.2 : 1 / 1.2, place(event.clientX, event.clientY));
    }, { passive: false });
    let pressed = null;
    figure.addEventListener("pointerdown", (event) => { pressed = event; });
    figure.addEventListener("pointermove", (event) => {
        if (!event.buttons) return;
        const { a, d } = svg.getScreenCTM();
        move(-event.movementX / a, -event.movementY / d);
    });
    // Letting go of a picture that was dragged chooses no box.
    figure.addEventListener("click", (event) => {
        const isDragged = pressed && Math.hypot(event.clientX - pressed.clientX, event.clientY - pressed.clientY) > 4;
        if (isDragged) event.stopPropagation();
    }, true);
    (figure.closest(".graph") ?? figure).before(make("div", { class: "controls" },
        button("+", () => zoom(1.5), { "aria-label": "Zoom in" }),
        button("−", () => zoom(1 / 1.5), { "aria-label": "Zoom out" }),
        button("whole", fit, { "aria-label": "Show the whole picture" }),
        scale,
        make("span", { class: "hint" }, `In the picture: + − 0, arrows${more}.`)));
    show();
    return centre;
}

function onKeys(element, keys) {
    element.addEventListener("keydown", (event) => {
        if (event.altKey || event.ctrlKey || event.metaKey || !Object.hasOwn(keys, event.key)) return;
        event.preventDefault();
        keys[event.key]();
    });
}

function graph(figure, table) {
    const centre = zoomable(figure, ", n and p for the next and the previous box, Esc");
    const boxes = [...figure.querySelectorAll(".box")];
    const panel = document.querySelector("aside.chosen");
    const holder = new Map(data.devices.flatMap((device, place) => device.nodes.map((id) => [id, place])));
    const rows = table?.rows ?? [];
    let current = -1;

    // `box` is the box that was chosen, where it was not a device as a whole.
    const choose = (title, ids, device, box = -1) => {
        current = box;
        const within = (place) => holder.get(data.boxes[place][0]) === device;
        boxes.forEach((each, place) => {
            each.classList.toggle("dimmed", device !== undefined && !within(place));
            each.classList.toggle("current", place === box);
        });
        rows.forEach((row) => {
            table.element(row).classList.toggle("chosen-row", row.place === device);
            row.button.setAttribute("aria-pressed", row.place === device);
        });
        panel.replaceChildren(...(ids ? told(title, ids, device) : []));
    };
    const chooseBox = (place) => {
        const ids = data.boxes[place];
        const device = holder.get(ids[0]);
        const title = ids.length > 1 ? `${ids.length} nodes` : nameOf(ids[0]);
        choose(device === undefined ? title : `${title} on ${data.labels[device]}`, ids, device, place);
        centre(boxes[place]);
    };
    boxes.forEach((box, place) => box.addEventListener("click", () => chooseBox(place)));
    const step = (by) => chooseBox((Math.max(current, by < 0 ? 0 : -1) + by + boxes.length) % boxes.length);
    onKeys(figure, { n: () => step(1), p: () => step(-1), Escape: () => choose() });
    table?.openBy(({ place }) => choose(data.labels[place], data.devices[place].nodes, place), "aria-pressed");
    panel.append(make("p", { class: "hint" }, "Choose a box of the picture, or a device of the table below."));
}

// Each part of the memory as a figure of its own.
function memoryParts({ memory_parts: parts }) {
    const named = Object.entries(parts ?? {}).map(([key, value]) => [`memory for ${key}`, value]);
    return { memory_parts: null, ...Object.fromEntries(named) };
}

const nameOf = (id) => data.nodes[id].name ?? `node ${id}`;

// What there is to say of nodes, and of the device that holds them.
function told(title, ids, device) {
    const parts = [make("h3", {}, title)];
    if (device !== undefined) {
        const { nodes, options, subgraphs, ...figures } = data.devices[device];
        const ends = (own, other) => Object.fromEntries(data.transfers.filter((each) => each[own] === device)
            .map((each) => [data.labels[each[other]], each.time]));
        const moved = { "sends to (time)": ends("from", "to"), "is sent by (time)": ends("to", "from") };
        const known = Object.entries(moved).filter(([, list]) => Object.keys(list).length);
        parts.push(facts({ ...figures, ...memoryParts(figures), ...Object.fromEntries(known) }));
    }
    const nodes = tabled(ids.map((id) => ({ id, ...data.nodes[id] })));
    parts.push(make("div", { class: "nodes", tabindex: 0, role: "region", "aria-label": "Nodes" }, nodes));
    return parts;
}

// A chart whose marks have names, which are told one at a time.
function pointable(figure) {
    const marks = [...figure.querySelectorAll(".mark")].filter((mark) => mark.querySelector("title"));
    const name = make("output");
    let current = -1;
    const choose = (place) => {
        current = place;
        marks.forEach((mark, each) => mark.classList.toggle("current", each === place));
        name.value = marks[place].textContent.trim();
    };
    marks.forEach((mark, place) => mark.addEventListener("pointerenter", () => choose(place)));
    const step = (by) => marks.length && choose((Math.max(current, by < 0 ? 0 : -1) + by + marks.length) % marks.length);
    onKeys(figure, { n: () => step(1), p: () => step(-1) });
    figure.before(make("p", {}, make("span", { class: "hint" }, "Point at a mark, or press n and p in the chart. "), name));
    figure.tabIndex = 0;
}

const tables = [...document.querySelectorAll("table")].map((table) => new Table(table));
for (const table of tables.filter(({ opens }) => opens && opens !== "devices")) {
    table.filterable();
    opensRecords(table);
}
document.querySelectorAll(".points").forEach(pointable);
document.querySelectorAll(".picture").forEach((figure) => {
    if (figure.closest(".graph")) graph(figure, tables.find(({ opens }) => opens === "devices"));
    else zoomable(figure);
});
