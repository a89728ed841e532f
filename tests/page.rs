//! `solve --html`, `compare --html` and `plan --html`: what pages hold, and what they do in a real browser.

mod bench;
mod browser;

use std::process::Command;

use bench::Bench;
use browser::Browser;
use dagsplit::internals::report::comparison::{Record, measured};
use dagsplit::internals::report::page;
use serde_json::{Value, json};

/// A name that would do harm wherever it is taken for more than text, and what it becomes where it is shown.
const HOSTILE: &str = "</script><img src=x onerror=\"alert(1)\">{{data}}'&amp;\u{1b}\u{202e}";
const SHOWN: &str = r#"</script><img src=x onerror="alert(1)">{{data}}'&amp;\u{1b}\u{202e}"#;

/// What a reader with normal eyes needs between letters and their ground (WCAG 2.2, 1.4.3).
const CONTRAST: f64 = 4.5;

impl Bench {
    /// Runs `dagsplit` with these words, which has to succeed, and gives what it prints.
    #[track_caller]
    fn run(&self, words: &str) -> String {
        let mut command = Command::new(env!("CARGO_BIN_EXE_dagsplit"));
        let ran = command.args(words.split_whitespace()).current_dir(self.directory.path()).output().unwrap();
        assert!(ran.status.success(), "{words}\n{}", String::from_utf8_lossy(&ran.stderr));
        String::from_utf8(ran.stdout).unwrap()
    }

    /// A workload whose name and whose nodes' names are hostile, and a topology with such names.
    fn hostile(&self) {
        self.run("convert diamond.json --to native --output hostile.json");
        let mut workload: Value = serde_json::from_str(&self.read("hostile.json")).unwrap();
        workload["metadata"]["name"] = HOSTILE.into();
        for node in workload["nodes"].as_array_mut().unwrap() {
            node["name"] = HOSTILE.into();
            node["output_bytes"] = 1e6.into();
        }
        self.file("hostile.json", &workload.to_string());
        self.run("generate topology hierarchical --nodes 1 --node-size 2 --output devices.json");
        let mut topology: Value = serde_json::from_str(&self.read("devices.json")).unwrap();
        topology["name"] = HOSTILE.into();
        for (number, device) in topology["devices"].as_array_mut().unwrap().iter_mut().enumerate() {
            device["name"] = format!("{HOSTILE}{number}").into();
        }
        self.file("devices.json", &topology.to_string());
    }

    /// The page of a solved chain, and the run's record as the program prints it.
    fn solved(&self) -> (String, Value) {
        self.run("generate chain --nodes 40 --output chain.json");
        let words = "solve chain.json --accelerators 4 --cpus 0 --json --quiet --output split.json --proof why.proof --html page.html";
        let record = serde_json::from_str(&self.run(words)).unwrap();
        (self.read("page.html"), record)
    }
}

/// A small model on two servers of two devices, planned.
const PLAN: &str = "plan llm.json servers.json --batch 16 --optimizer adam --precision bf16 --zero 1";

impl Bench {
    /// The page of a plan, and the plan's record as the program prints it.
    fn planned(&self) -> (String, Value) {
        let model = "--model llama3-8b --layers 8 --tensor-degrees 1,2 --accelerator h100 --precision fp16";
        self.run(&format!("generate llm {model} --accelerators 4 --cpus 0 --output llm.json"));
        self.run("generate topology nvswitch --nodes 2 --node-size 2 --server dgx-h100 --output servers.json");
        let files = "--output-stages stages.json --output-topology groups.json --output-mapping mapping.json";
        let record = self.run(&format!("{PLAN} {files} --json --quiet --html plan.html"));
        (self.read("plan.html"), serde_json::from_str(&record).unwrap())
    }
}

/// The data that a page gives its script.
fn data(page: &str) -> Value {
    let (_, rest) = page.split_once("<script type=\"application/json\" id=\"data\">").unwrap();
    serde_json::from_str(rest.split_once("</script>").unwrap().0).unwrap()
}

#[test]
fn a_page_holds_the_record_and_nothing_from_elsewhere() {
    let bench = Bench::new();
    let (page, record) = bench.solved();
    assert_eq!(data(&page)["record"], record);
    assert!(page.contains("default-src 'none'"));
    let outside = page.replace("xmlns=\"http://www.w3.org/2000/svg\"", "");
    assert!(!outside.contains("http://") && !outside.contains("https://") && !outside.contains("@import"));
    for command in ["dagsplit verify chain.json split.json", "dagsplit-check chain.json why.proof split.json"] {
        assert!(page.contains(command), "{command}");
    }
    bench.run("compare chain.json --methods dp,dpl --quiet --html compare.html --export-json records.json");
    let records: Value = serde_json::from_str(&bench.read("records.json")).unwrap();
    assert_eq!(data(&bench.read("compare.html"))["records"], records);
}

#[test]
fn a_page_of_a_plan_holds_its_record_and_its_commands_say_the_same() {
    let bench = Bench::new();
    let (page, record) = bench.planned();
    assert_eq!(data(&page)["record"], record);
    let command = |name: &str| {
        let (_, shown) = page.split_once(&format!("<code>dagsplit {name} ")).unwrap();
        format!("{name} {}", shown.split_once("</code>").unwrap().0)
    };
    let simulated: Value = serde_json::from_str(&bench.run(&format!("{} --json", command("simulate")))).unwrap();
    assert_eq!(simulated["makespan"], record["objective"]);
    let again: Value = serde_json::from_str(&bench.run(&command("plan"))).unwrap();
    assert_eq!(again["objective"], record["objective"]);
    // Every node is on a stage, whose copies are on the devices of the record.
    let devices = data(&page)["devices"].as_array().unwrap().clone();
    let nodes: usize = devices.iter().map(|device| device["nodes"].as_array().unwrap().len()).sum();
    assert_eq!(nodes, record["instance"]["nodes"].as_u64().unwrap() as usize);
    for copy in record["copies"].as_array().unwrap() {
        assert!(page.contains(&format!("<td>{}</td>", copy["device_name"].as_str().unwrap())), "{copy}");
    }
}

#[test]
fn plans_are_filtered_and_named_by_keyboard() {
    let bench = Bench::new();
    let (_, record) = bench.planned();
    let candidates = record["candidates"].as_array().unwrap();
    let Some(mut browser) = Browser::start() else { return };
    browser.open(&bench.path("plan.html"), 1280);
    let rows = "[...document.querySelectorAll('[data-opens=candidates] > tbody > tr')]";
    assert_eq!(browser.value(&format!("{rows}.length")), candidates.len());
    browser.value("document.querySelector('input[type=search]').focus()");
    browser.write("best");
    assert_eq!(browser.value(&format!("{rows}.map(row => row.lastChild.textContent)")), json!(["best"]));
    browser.value(&format!("{rows}[0].querySelector('button').focus()"));
    browser.press("Enter");
    let details = browser.value("document.querySelector('.details').textContent");
    let of_best = candidates.iter().find(|candidate| candidate["status"] == "best").unwrap();
    assert!(details.as_str().unwrap().contains(of_best["mapper"].as_str().unwrap()), "{details}");

    // Each plan that fits has a mark, the fastest first.
    let fitting = candidates.iter().filter(|plan| ["best", "planned"].contains(&plan["status"].as_str().unwrap()));
    let names = fitting.map(|plan| {
        let part = |name: &str| plan[name].as_u64().unwrap();
        let [stages, replicas] = [part("stages"), part("replicas")];
        let schedule = plan["schedule"].as_str().unwrap();
        let chunks = if part("chunks") > 1 { format!(" of {} chunks", part("chunks")) } else { String::new() };
        format!("({stages}, {replicas}, {}, {}) under {schedule}{chunks}", part("tensor_degree"), part("microbatches"))
    });
    while browser.value("document.activeElement.matches('.points')") == false {
        browser.press("Tab");
    }
    for name in names {
        browser.press("n");
        let told = browser.value("document.querySelector('.points').previousSibling.querySelector('output').value");
        assert!(told.as_str().unwrap().starts_with(&format!("{name}: ")), "{told}, not {name}");
        assert_eq!(browser.value("document.querySelectorAll('.points .current').length"), 1);
    }

    // The step is zoomed as the graph is.
    let view = "document.querySelector('.paper svg').getAttribute('viewBox').split(' ').map(Number)[2]";
    let whole = browser.value(view).as_f64().unwrap();
    browser.value("document.querySelector('.paper').focus()");
    browser.press("+");
    assert!(browser.value(view).as_f64().unwrap() < whole);
    assert_eq!(browser.complaints(), [&Value::Null; 0]);
}

#[test]
fn what_was_known_when_is_a_curve_and_a_table() {
    let bench = Bench::new();
    let bert = concat!(env!("CARGO_MANIFEST_DIR"), "/instances/bert12_inference.json");
    let record: Value =
        serde_json::from_str(&bench.run(&format!("solve {bert} --method dp --json --quiet --html page.html"))).unwrap();
    let trace = record["trace"].as_array().unwrap();
    assert!(trace.len() > 1, "{trace:?}");
    let page = bench.read("page.html");
    let (_, curve) = page.split_once("<figure class=\"curve\">").unwrap();
    let (curve, rest) = curve.split_once("</figure>").unwrap();
    // Both lines end at the optimum.
    let lines: Vec<&str> = curve.split("<path d=\"").skip(1).map(|line| line.split('"').next().unwrap()).collect();
    let end = |line: &str| line.rsplit('L').next().unwrap().to_owned();
    assert_eq!(end(lines[0]), end(lines[1]), "{curve}");
    assert_ne!(lines[0], lines[1]);
    let values = |row: &str| -> Vec<Option<f64>> {
        row.split("data-value=\"").skip(1).map(|value| value.split('"').next().unwrap().parse().ok()).collect()
    };
    let (_, table) = rest.split_once("<tbody>").unwrap();
    let shown: Vec<_> =
        table.split_once("</tbody>").unwrap().0.lines().map(values).filter(|row| !row.is_empty()).collect();
    let known = |entry: &Value| ["seconds", "incumbent", "bound"].map(|name| entry[name].as_f64()).to_vec();
    assert_eq!(shown, trace.iter().map(known).collect::<Vec<_>>());
}

#[test]
fn the_verifier_takes_the_command_that_a_page_shows() {
    let bench = Bench::new();
    let words = "--memory 12 --cost overlap --scope arbitrary,acyclic --method brute-force";
    bench.run(&format!("solve diamond.json {words} --quiet --output split.json --html page.html"));
    let page = bench.read("page.html");
    let (_, shown) = page.split_once("<code>dagsplit verify ").unwrap();
    let verified: Value =
        serde_json::from_str(&bench.run(&format!("verify {} --json", shown.split_once("</code>").unwrap().0))).unwrap();
    assert_eq!((&verified["valid"], &verified["scope"]), (&json!(true), &json!("arbitrary")));
    assert_eq!(verified["objective"], data(&page)["record"]["objective"]);
}

#[test]
fn each_reason_of_a_proof_is_told_in_words() {
    let bench = Bench::new();
    bench.run("generate chain --nodes 7 --seed 2 --output chain.json");
    let reasons = [
        ("diamond.json --memory 100 --accelerators 1 --cpus 0", "cannot do all of it"),
        ("diamond.json", "room for fewer than these 4: node 13, node 11, node 10, node 12"),
        ("diamond.json --memory 100 --cpus 0", "one ideal after another"),
        ("chain.json --accelerators 2 --cpus 0 --scope convex", "has a profit"),
    ];
    for (question, words) in reasons {
        bench.run(&format!("solve {question} --quiet --certify --html page.html"));
        let page = bench.read("page.html");
        assert!(page.contains(words) && page.contains("has a load of at least"), "{question}: no `{words}`");
    }
}

#[test]
fn hostile_names_are_text() {
    let bench = Bench::new();
    bench.hostile();
    bench.run("solve hostile.json --method brute-force --quiet --html page.html");
    bench.run("compare hostile.json --methods brute-force --quiet --html compare.html");
    bench.run("plan hostile.json devices.json --batch 4 --quiet --html plan.html");
    let Some(mut browser) = Browser::start() else { return };
    for page in ["page.html", "compare.html", "plan.html"] {
        browser.open(&bench.path(page), 1280);
        assert_eq!(browser.requests().len(), 1, "{page}: {:?}", browser.requests());
        assert_eq!(browser.complaints(), [&Value::Null; 0], "{page}");
        let count = |tag: &str| format!("document.getElementsByTagName('{tag}').length");
        assert_eq!((browser.value(&count("img")), browser.value(&count("script"))), (json!(0), json!(2)), "{page}");
    }
    browser.open(&bench.path("page.html"), 1280);
    assert_eq!(browser.value("document.querySelector('h1').textContent"), SHOWN);
    browser.value("document.querySelector('.picture').focus()");
    browser.press("n");
    let told = browser.value("document.querySelector('.chosen').textContent");
    assert!(told.as_str().unwrap().contains("</script><img src=x"), "{told}");
    assert_eq!(browser.value("document.images.length"), 0);
}

#[test]
fn the_graph_is_zoomed_and_walked_by_keyboard() {
    let bench = Bench::new();
    let (_, record) = bench.solved();
    let Some(mut browser) = Browser::start() else { return };
    browser.open(&bench.path("page.html"), 1280);
    let view = "document.querySelector('.picture svg').getAttribute('viewBox').split(' ').map(Number)";
    let viewed = |browser: &mut Browser| -> Vec<f64> { serde_json::from_value(browser.value(view)).unwrap() };
    let whole = viewed(&mut browser);
    // The picture is reached by keys alone.
    while browser.value("document.activeElement.matches('.picture')") == false {
        browser.press("Tab");
    }
    browser.press("+");
    let nearer = viewed(&mut browser);
    assert!(nearer[2] < whole[2] && nearer[3] < whole[3], "{nearer:?}");
    browser.press("ArrowRight");
    let moved = viewed(&mut browser);
    assert!(moved[0] > nearer[0] && moved[1..] == nearer[1..], "{moved:?}");
    browser.press("0");
    assert_eq!(viewed(&mut browser), whole);
    browser.press("-");
    assert_eq!(viewed(&mut browser), whole, "no farther than the whole");

    // Walking through all boxes passes each node once, on the device that holds it.
    let boxes = browser.value("document.querySelectorAll('.picture .box').length").as_u64().unwrap();
    let mut passed = Vec::new();
    for _ in 0..boxes {
        browser.press("n");
        let seen = browser.value(
            "[document.querySelector('.chosen h3').textContent, document.querySelector('.chosen-row').textContent, \
             [...document.querySelectorAll('.nodes tbody tr')].map(row => Number(row.cells[0].textContent))]",
        );
        let (title, row) = (seen[0].as_str().unwrap(), seen[1].as_str().unwrap());
        let device = title.split_once(" on ").unwrap().1;
        let number: usize = device.strip_prefix("accelerator ").unwrap().parse().unwrap();
        assert!(row.starts_with(device), "{title}: {row}");
        for node in seen[2].as_array().unwrap() {
            assert!(record["devices"][number]["nodes"].as_array().unwrap().contains(node), "{title}: {node}");
            passed.push(node.as_u64().unwrap());
        }
    }
    passed.sort_unstable();
    assert_eq!(passed, (0..40).collect::<Vec<u64>>());
    browser.press("Escape");
    assert_eq!(browser.value("document.querySelectorAll('.dimmed, .current, .chosen-row').length"), 0);
}

#[test]
fn a_press_chooses_a_box_and_dragging_chooses_none() {
    let bench = Bench::new();
    bench.solved();
    let Some(mut browser) = Browser::start() else { return };
    browser.open(&bench.path("page.html"), 1280);
    browser.value("document.querySelector('.picture').focus()");
    browser.press("+");
    for (right, chosen) in [(10.0, 0), (0.0, 1)] {
        let place = browser.value(
            "(() => { const box = document.querySelectorAll('.box')[5]; box.scrollIntoView({ block: 'center' }); \
             const { left, top, width, height } = box.getBoundingClientRect(); \
             return [left + width / 2, top + height / 2]; })()",
        );
        browser.drag(serde_json::from_value(place).unwrap(), right);
        assert_eq!(browser.value("document.querySelectorAll('.current').length"), chosen, "dragged by {right}");
    }
}

#[test]
fn runs_are_sorted_and_filtered_by_keyboard() {
    let bench = Bench::new();
    bench.run("generate chain --nodes 30 --output chain.json");
    let runs = "chain.json diamond.json --methods dp,dpl,uniform --accelerators 2 --memory 1GB";
    bench.run(&format!("compare {runs} --quiet --html page.html --export-json records.json"));
    let records: Vec<Value> = serde_json::from_str(&bench.read("records.json")).unwrap();
    let Some(mut browser) = Browser::start() else { return };
    browser.open(&bench.path("page.html"), 1280);
    let rows = "[...document.querySelectorAll('[data-opens=records] > tbody > tr')].filter(row => !row.hidden)";
    let shown = |browser: &mut Browser| -> Vec<f64> {
        let values = browser.value(&format!("{rows}.map(row => Number(row.cells[4].dataset.value))"));
        serde_json::from_value(values).unwrap()
    };
    let mut sorted: Vec<f64> = records.iter().map(|record| record["objective"].as_f64().unwrap()).collect();
    assert_eq!(shown(&mut browser), sorted, "in their own order at first");
    while browser.value("document.activeElement.textContent") != "objective" {
        browser.press("Tab");
    }
    let order = "document.activeElement.closest('th').getAttribute('aria-sort')";
    sorted.sort_by(f64::total_cmp);
    browser.press("Enter");
    assert_eq!((shown(&mut browser), browser.value(order)), (sorted.clone(), json!("ascending")));
    sorted.reverse();
    browser.press("Enter");
    assert_eq!((shown(&mut browser), browser.value(order)), (sorted.clone(), json!("descending")));

    browser.value("document.querySelector('input[type=search]').focus()");
    browser.write("DIAMOND dpl");
    assert_eq!(browser.value(&format!("{rows}.map(row => row.cells[1].textContent)")), json!(["dpl"]));
    assert_eq!(browser.value("document.querySelector('output').value"), json!(format!("1 of {}", records.len())));

    // The details of a row are those of its record, wherever the row is by now.
    browser.value(&format!("{rows}[0].querySelector('button').focus()"));
    browser.press("Enter");
    let details = browser.value("document.querySelector('.details').textContent");
    let record = records.iter().find(|record| record["file"] == "diamond.json" && record["method"] == "dpl").unwrap();
    let command: Vec<&str> = record["command"].as_array().unwrap().iter().filter_map(Value::as_str).collect();
    assert!(details.as_str().unwrap().contains(&command.join(" ")), "{details}");
    assert_eq!(browser.complaints(), [&Value::Null; 0]);
}

#[test]
fn pages_fit_phones_and_are_legible_in_both_schemes() {
    let bench = Bench::new();
    bench.solved();
    bench.run("compare chain.json diamond.json --methods dp,dpl --quiet --html compare.html");
    bench.planned();
    let Some(mut browser) = Browser::start() else { return };
    for page in ["page.html", "compare.html", "plan.html"] {
        browser.open(&bench.path(page), 360);
        browser.value("document.querySelectorAll('[data-opens] tbody button').forEach(button => button.click())");
        for width in [360, 1280] {
            browser.resize(width);
            let extent = browser.value("document.documentElement.scrollWidth").as_u64().unwrap();
            assert!(extent <= u64::from(width), "{page}: {extent} pixels wide on {width}");
        }
        for scheme in ["light", "dark"] {
            browser.prefer(scheme);
            let pale = browser.value(&format!("({PALE})({CONTRAST})"));
            assert_eq!(pale, json!([]), "{page}, {scheme}");
            let heads = "[...document.querySelectorAll('#across path')].map(head => getComputedStyle(head).fill)";
            let is_ink = format!("{heads}.every(fill => fill === getComputedStyle(document.body).color)");
            assert_eq!(browser.value(&is_ink), true, "{page}, {scheme}: arrows have heads");
        }
        assert_eq!((browser.requests().len(), browser.complaints().len()), (1, 0), "{page}");
        let refused = browser.value(
            "new Promise(heard => { document.addEventListener('securitypolicyviolation', event => \
             heard(event.effectiveDirective)); new Image().src = 'picture.png'; })",
        );
        assert_eq!(refused, "img-src", "{page}: the policy forbids requests");
    }
}

/// Texts with less contrast to their ground, by the formula of WCAG 2.2.
const PALE: &str = r#"(least) => {
    const channels = (colour) => colour.match(/[\d.]+/g).map(Number);
    const linear = (value) => value / 255 <= 0.04045 ? value / 255 / 12.92 : ((value / 255 + 0.055) / 1.055) ** 2.4;
    const luminance = ([red, green, blue]) => 0.2126 * linear(red) + 0.7152 * linear(green) + 0.0722 * linear(blue);
    const ground = (element) => {
        const colour = element ? channels(getComputedStyle(element).backgroundColor) : [255, 255, 255];
        return colour.length === 4 && colour[3] === 0 ? ground(element.parentElement) : colour;
    };
    // Boxes of a picture lie on its ground, and texts on them.
    const painted = (below, box) => {
        const { fill, fillOpacity } = getComputedStyle(box);
        return channels(fill).slice(0, 3).map((value, i) => value * fillOpacity + below[i] * (1 - fillOpacity));
    };
    const under = (element) => {
        const whole = ground(element).slice(0, 3);
        if (!element.closest("svg")) return whole;
        const { left, top, width, height } = element.getBoundingClientRect();
        const holds = (box) => {
            const place = box.getBoundingClientRect();
            const [x, y] = [left + width / 2 - place.left, top + height / 2 - place.top];
            return x >= 0 && y >= 0 && x <= place.width && y <= place.height;
        };
        return [...element.parentElement.querySelectorAll(":scope > rect")].filter(holds).reduce(painted, whole);
    };
    const hasText = (element) => [...element.childNodes].some((node) => node.nodeType === 3 && node.data.trim());
    const isPale = (element) => {
        const style = getComputedStyle(element);
        const ink = element.closest("svg") ? style.fill : style.color;
        const [more, less] = [luminance(channels(ink)), luminance(under(element))].sort((a, b) => b - a);
        return (more + 0.05) / (less + 0.05) < least;
    };
    const seen = [...document.body.querySelectorAll("*:not(script, title, option)")].filter(hasText);
    return seen.filter(isPale).map((element) => element.outerHTML.slice(0, 200));
}"#;

#[test]
fn large_graphs_open_quickly() {
    let bench = Bench::new();
    bench.run("generate dnn --nodes 10000 --output big.json");
    bench.run("solve big.json --accelerators 4 --cpus 0 --method dpl --quiet --html page.html");
    assert!(bench.read("page.html").len() < 3_000_000);
    let Some(mut browser) = Browser::start() else { return };
    browser.open(&bench.path("page.html"), 1280);
    let elapsed = browser.value("performance.getEntriesByType('navigation')[0].domComplete").as_f64().unwrap();
    assert!(elapsed < 10_000.0, "{elapsed} ms");
    assert!(browser.value("document.querySelectorAll('.picture .box').length").as_u64().unwrap() <= 400);
    browser.value("document.querySelector('[data-opens=devices] tbody button').click()");
    let rows = browser.value("document.querySelectorAll('.nodes tbody tr').length").as_u64().unwrap();
    assert_eq!(rows, data(&bench.read("page.html"))["record"]["devices"][0]["nodes"].as_array().unwrap().len() as u64);
}

/// Rows are in the page some hundred at a time, so that its size, and with it the time to open it, does not grow with
/// the runs.
#[test]
fn thousands_of_runs_are_sorted_and_filtered_some_hundred_rows_at_a_time() {
    const SEEDS: u64 = 10_000;
    let bench = Bench::new();
    bench.run("compare diamond.json --methods dp,dpl --quiet --export-json records.json");
    let two: Vec<Record> = serde_json::from_str(&bench.read("records.json")).unwrap();
    let of_seed = |seed: u64| {
        two.iter().cloned().map(move |mut record| {
            record.trial.seed = seed;
            record.ending.seconds = Some(1.0);
            record
        })
    };
    let records: Vec<Record> = (0..SEEDS).flat_map(of_seed).collect();
    bench.file("many.html", &page::comparison(&measured(&records)).unwrap());
    let Some(mut browser) = Browser::start() else { return };
    browser.open(&bench.path("many.html"), 1280);
    let elements = browser.value("document.getElementsByTagName('*').length").as_u64().unwrap();
    assert!(elements < 12_000, "{elements}");
    let rows = "[...document.querySelectorAll('[data-opens=records] > tbody > tr')]";
    let seeds = |browser: &mut Browser| -> Vec<u64> {
        let seeds = browser.value(&format!("{rows}.map(row => Number(row.cells[3].textContent))"));
        serde_json::from_value(seeds).unwrap()
    };
    let press = |browser: &mut Browser, label: &str| {
        let button = format!("[...document.querySelectorAll('button')].find(each => each.textContent === '{label}')");
        browser.value(&format!("{button}.click()"));
    };
    press(&mut browser, "seed");
    press(&mut browser, "seed");
    let pairs = |seeds: std::ops::Range<u64>| seeds.rev().flat_map(|seed| [seed, seed]).collect::<Vec<u64>>();
    assert_eq!(seeds(&mut browser), pairs(SEEDS - 250..SEEDS));
    press(&mut browser, "Later rows");
    assert_eq!(seeds(&mut browser), pairs(SEEDS - 500..SEEDS - 250));
    browser.value("document.querySelector('input[type=search]').focus()");
    browser.write("dpl 998");
    let found: Vec<u64> = (0..SEEDS).rev().filter(|seed| seed.to_string().contains("998")).collect();
    assert_eq!(seeds(&mut browser), found);
    assert_eq!(browser.value("document.querySelector('output').value"), format!("{} of {}", found.len(), 2 * SEEDS));
    // A row that came as data opens to its own record.
    browser.value(&format!("{rows}[0].querySelector('button').click()"));
    let details = browser.value("document.querySelector('.details').textContent");
    assert!(details.as_str().unwrap().contains(&found[0].to_string()), "{details}");
    assert_eq!(browser.complaints(), [&Value::Null; 0]);
}
