//! A real browser, driven by its DevTools protocol through a pipe.

use std::io::{BufRead, BufReader, Write};
use std::path::Path;
use std::process::{Child, ChildStdin, Command, Stdio};
use std::sync::mpsc::{Receiver, channel};
use std::time::Duration;

use serde_json::{Value, json};

/// What browsers that speak the protocol are called.
const PROGRAMS: [&str; 5] = [
    "chromium",
    "chromium-browser",
    "google-chrome",
    "google-chrome-stable",
    "/Applications/Google Chrome.app/Contents/MacOS/Google Chrome",
];

/// A browser that talks to nobody of its own accord.
const OPTIONS: [&str; 10] = [
    "--headless",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    "--disable-dev-shm-usage",
    "--remote-debugging-pipe",
];

/// The protocol's two files are the two pipes that a child has anyway.
const PIPES: &str = r#"exec "$0" "$@" 3<&0 4>&1 0</dev/null 1>/dev/null 2>/dev/null"#;

/// Longer than an answer takes on a busy machine.
const PATIENCE: Duration = Duration::from_secs(120);

pub struct Browser {
    process: Child,
    input: ChildStdin,
    messages: Receiver<Value>,
    /// The last command's number.
    last: u64,
    session: Option<String>,
    /// What the page has told since it was opened.
    events: Vec<Value>,
    _profile: tempfile::TempDir,
}

impl Browser {
    /// A browser; where there is none that starts, says so aloud.
    pub fn start() -> Option<Self> {
        let chosen = std::env::var("DAGSPLIT_BROWSER").ok();
        let programs = chosen.iter().map(String::as_str).chain(PROGRAMS.into_iter().filter(|_| chosen.is_none()));
        let browser = programs.into_iter().find_map(Self::of);
        if browser.is_none() {
            // Standard error itself is not captured by the harness, as `eprintln!` would be.
            let _ = writeln!(std::io::stderr(), "SKIPPED: there is no Chromium; set DAGSPLIT_BROWSER to one");
        }
        browser
    }

    fn of(program: &str) -> Option<Self> {
        let profile = tempfile::tempdir().unwrap();
        let data = format!("--user-data-dir={}", profile.path().display());
        let mut command = Command::new("sh");
        command.args(["-c", PIPES, program]).args(OPTIONS).arg(data);
        let mut process = command.stdin(Stdio::piped()).stdout(Stdio::piped()).spawn().ok()?;
        let (input, output) = (process.stdin.take().unwrap(), process.stdout.take().unwrap());
        let (sender, messages) = channel();
        std::thread::spawn(move || {
            let parts = BufReader::new(output).split(0).map_while(Result::ok);
            parts.map_while(|part| serde_json::from_slice(&part).ok()).try_for_each(|message| sender.send(message))
        });
        let (last, session, events) = (0, None, Vec::new());
        let mut browser = Self { process, input, messages, last, session, events, _profile: profile };
        browser.ask("Browser.getVersion", json!({})).ok()?;
        Some(browser)
    }

    /// Opens a file in a window of this width.
    pub fn open(&mut self, file: &Path, width: u32) {
        self.session = None;
        let target = self.tell("Target.createTarget", json!({"url": "about:blank"}))["targetId"].take();
        let attached = self.tell("Target.attachToTarget", json!({"targetId": target, "flatten": true}));
        self.session = attached["sessionId"].as_str().map(str::to_owned);
        for domain in ["Page", "Runtime", "Log", "Network"] {
            self.tell(&format!("{domain}.enable"), json!({}));
        }
        self.resize(width);
        self.events.clear();
        self.tell("Page.navigate", json!({"url": format!("file://{}", file.display())}));
        while !self.events.iter().any(|event| event["method"] == "Page.loadEventFired") {
            let event = self.messages.recv_timeout(PATIENCE).expect("the page is loaded");
            self.events.push(event);
        }
    }

    pub fn resize(&mut self, width: u32) {
        let size = json!({"width": width, "height": 800, "deviceScaleFactor": 1, "mobile": false});
        self.tell("Emulation.setDeviceMetricsOverride", size);
    }

    /// Has the page know that its reader prefers a scheme of colours: `light` or `dark`.
    pub fn prefer(&mut self, scheme: &str) {
        let features = json!([{"name": "prefers-color-scheme", "value": scheme}]);
        self.tell("Emulation.setEmulatedMedia", json!({"features": features}));
    }

    /// The value of an expression in the page, or of the promise that it makes.
    #[track_caller]
    pub fn value(&mut self, expression: &str) -> Value {
        let question = json!({"expression": expression, "returnByValue": true, "awaitPromise": true});
        let mut answer = self.tell("Runtime.evaluate", question);
        assert_eq!(answer["exceptionDetails"], Value::Null, "{expression}");
        answer["result"]["value"].take()
    }

    /// Presses a key that has a text, or a name and a number.
    pub fn press(&mut self, key: &str) {
        let (code, text) = match key {
            "Tab" => (9, ""),
            "Enter" => (13, "\r"),
            "Escape" => (27, ""),
            "ArrowRight" => (39, ""),
            text => (0, text),
        };
        let event = |kind: &str| json!({"type": kind, "key": key, "windowsVirtualKeyCode": code});
        let mut down = event(if text.is_empty() { "rawKeyDown" } else { "keyDown" });
        if !text.is_empty() {
            down["text"] = text.into();
        }
        self.tell("Input.dispatchKeyEvent", down);
        self.tell("Input.dispatchKeyEvent", event("keyUp"));
    }

    /// Presses the mouse at a place of the window, and lets go of it so many pixels farther right.
    pub fn drag(&mut self, (x, y): (f64, f64), right: f64) {
        for (kind, x) in [("mousePressed", x), ("mouseMoved", x + right), ("mouseReleased", x + right)] {
            let event = json!({"type": kind, "x": x, "y": y, "button": "left", "buttons": 1, "clickCount": 1});
            self.tell("Input.dispatchMouseEvent", event);
        }
    }

    /// Types a text where the focus is.
    pub fn write(&mut self, text: &str) {
        self.tell("Input.insertText", json!({"text": text}));
    }

    /// Addresses that were asked for since the page was opened, its own among them.
    pub fn requests(&self) -> Vec<&str> {
        let requests = self.events.iter().filter(|event| event["method"] == "Network.requestWillBeSent");
        requests.filter_map(|event| event["params"]["request"]["url"].as_str()).collect()
    }

    /// Errors of scripts, and what else is in the console.
    pub fn complaints(&self) -> Vec<&Value> {
        let methods = ["Runtime.exceptionThrown", "Runtime.consoleAPICalled", "Log.entryAdded"];
        self.events.iter().filter(|event| methods.iter().any(|method| event["method"] == *method)).collect()
    }

    #[track_caller]
    fn tell(&mut self, method: &str, parameters: Value) -> Value {
        self.ask(method, parameters).unwrap_or_else(|error| panic!("{method}: {error}"))
    }

    fn ask(&mut self, method: &str, parameters: Value) -> Result<Value, String> {
        self.last += 1;
        let mut command = json!({"id": self.last, "method": method, "params": parameters});
        if let Some(session) = &self.session {
            command["sessionId"] = session.as_str().into();
        }
        self.input.write_all(format!("{command}\0").as_bytes()).map_err(|error| error.to_string())?;
        loop {
            let mut message = self.messages.recv_timeout(PATIENCE).map_err(|error| error.to_string())?;
            if message["id"] != self.last {
                self.events.push(message);
            } else if message["error"].is_null() {
                return Ok(message["result"].take());
            } else {
                return Err(message["error"].to_string());
            }
        }
    }
}

impl Drop for Browser {
    fn drop(&mut self) {
        self.session = None;
        let _ = self.ask("Browser.close", json!({})).map_err(|_| self.process.kill());
        let _ = self.process.wait();
    }
}
