#!/usr/bin/env python3
"""Login and consent in a real browser: Chromium, driven by ChromeDriver. Standard library only.

check.py --url http://127.0.0.1:10013/mcp --user NAME --password PASSWORD [--shots FOLDER]

Walks from /authorize over login and consent to a callback, a token and a call with it; says no once; looks at the
account pages; and fails if the browser reports that the content security policy stopped anything. With --shots it
leaves screenshots: light, dark, and phone width. Without chromium or chromedriver it says so and ends with 0.
"""
import argparse, base64, hashlib, http.server, json, pathlib, secrets, shutil, socket, subprocess, sys, tempfile
import threading, time, urllib.error, urllib.parse as up, urllib.request

passed, failed = [], []
ELEMENT = "element-6066-11e4-a52e-4f735466cecf"
VIEWS = {"light": (1100, 900, "light", False), "dark": (1100, 900, "dark", False),
         "phone": (390, 844, "light", True), "phone-dark": (390, 844, "dark", True)}


def check(name, good, detail=""):
    (passed if good else failed).append(name)
    print(("ok   " if good else "FAIL ") + name + ("" if good else f"  -- {detail}"), flush=True)
    return good


def free_port():
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        return s.getsockname()[1]


def send(url, body=None, headers=None, method=None):
    """Status and text of a request; a dict is sent as a form, anything else as JSON."""
    headers = dict(headers or {})
    if isinstance(body, dict) and headers.pop("form", None):
        body, headers["Content-Type"] = up.urlencode(body).encode(), "application/x-www-form-urlencoded"
    elif body is not None:
        body, headers["Content-Type"] = json.dumps(body).encode(), "application/json"
    try:
        with urllib.request.urlopen(urllib.request.Request(url, body, headers, method=method), timeout=60) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        return error.code, error.read().decode()


class Callback(http.server.BaseHTTPRequestHandler):
    """Where a client waits for the answer."""
    seen = []

    def do_GET(self):
        if self.path.startswith("/callback"):
            Callback.seen.append(dict(up.parse_qsl(up.urlsplit(self.path).query)))
        self.send_response(200)
        self.end_headers()
        self.wfile.write(b"back at the client")

    def log_message(self, *_):
        pass


class Browser:
    def __init__(self, driver, chromium):
        self.profile = tempfile.mkdtemp()
        self.port = free_port()
        self.process = subprocess.Popen([driver, f"--port={self.port}"], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        flags = ["--headless", "--no-sandbox", "--disable-gpu", "--disable-quic", "--no-first-run", "--hide-scrollbars",
                 "--disable-background-networking", "--disable-component-update", "--disable-sync",
                 f"--user-data-dir={self.profile}"]
        wanted = {"browserName": "chrome", "goog:chromeOptions": {"binary": chromium, "args": flags},
                  "goog:loggingPrefs": {"browser": "ALL"}}
        self.base = f"http://127.0.0.1:{self.port}"
        for _ in range(100):
            try:
                urllib.request.urlopen(self.base + "/status", timeout=5).read()
                break
            except OSError:
                time.sleep(0.1)
        self.base += "/session/" + self.ask("/session", {"capabilities": {"alwaysMatch": wanted}})["sessionId"]

    def ask(self, path, body=None, method=None):
        status, text = send(self.base + path, body, method=method)
        value = json.loads(text)["value"]
        if status != 200:
            raise RuntimeError(f"{path}: {value}")
        return value

    def close(self):
        try:
            self.ask("", method="DELETE")
        finally:
            self.process.terminate()
            self.process.wait(10)
            shutil.rmtree(self.profile, ignore_errors=True)

    def cdp(self, command, **params):
        return self.ask("/goog/cdp/execute", {"cmd": command, "params": params})

    def open(self, url):
        self.ask("/url", {"url": url})

    def url(self):
        return self.ask("/url")

    def find(self, css):
        found = self.ask("/elements", {"using": "css selector", "value": css})
        return found[0][ELEMENT] if found else None

    def text(self, css="body"):
        return self.ask(f"/element/{self.find(css)}/text")

    def fill(self, css, text):
        element = self.find(css)
        self.ask(f"/element/{element}/clear", {})
        self.ask(f"/element/{element}/value", {"text": text})

    def click(self, css):
        self.ask(f"/element/{self.find(css)}/click", {})

    def script(self, code):
        return self.ask("/execute/sync", {"script": code, "args": []})

    def view(self, name):
        width, height, scheme, mobile = VIEWS[name]
        self.cdp("Emulation.setDeviceMetricsOverride", width=width, height=height, deviceScaleFactor=1, mobile=mobile)
        self.cdp("Emulation.setEmulatedMedia", features=[{"name": "prefers-color-scheme", "value": scheme}])

    def complaints(self):
        return [line["message"] for line in self.ask("/se/log", {"type": "browser"})
                if "Content Security Policy" in line["message"] or "Refused to" in line["message"]]


def answered():
    """Whether the client got its answer; a click returns before the redirects that follow it are done."""
    for _ in range(100):
        if Callback.seen:
            return True
        time.sleep(0.1)
    return False


def shoot(browser, folder, name):
    """Screenshots in every view, and whether any is wider than its window."""
    for view, (width, *_) in VIEWS.items():
        browser.view(view)
        wide = browser.script("return document.documentElement.scrollWidth")
        check(f"{name}.{view}_fits", wide <= width, f"{wide} > {width}")
        if folder:
            height = browser.script("return document.documentElement.scrollHeight")
            clip = {"x": 0, "y": 0, "width": width, "height": max(height, 400), "scale": 1}
            shot = browser.cdp("Page.captureScreenshot", format="png", captureBeyondViewport=True, clip=clip)
            (folder / f"{name}-{view}.png").write_bytes(base64.b64decode(shot["data"]))
    browser.view("light")


def authorize_url(origin, client, callback, state, challenge):
    return f"{origin}/authorize?" + up.urlencode({
        "response_type": "code", "client_id": client, "redirect_uri": callback, "state": state,
        "code_challenge": challenge, "code_challenge_method": "S256", "resource": origin + "/mcp"})


def log_in(browser, user, password, shots):
    check("login.shown", browser.find("input[type=password]") is not None, browser.url())
    check("login.fields_have_labels", browser.script(
        "return [...document.querySelectorAll('input:not([type=hidden])')].every(i => i.labels.length)"))
    shoot(browser, shots, "login")
    browser.fill("#name", user)
    browser.fill("#password", "a wrong password")
    browser.click("button.primary")
    check("login.wrong_password_says_so", "wrong" in browser.text("[role=alert]"))
    check("login.wrong_password_keeps_the_name", browser.script("return document.querySelector('#name').value") == user)
    shoot(browser, shots, "login-error")
    browser.fill("#password", password)
    browser.click("button.primary")


def allow(browser, origin, client, callback, issuer, user, password, shots):
    verifier = secrets.token_urlsafe(48)
    challenge = base64.urlsafe_b64encode(hashlib.sha256(verifier.encode()).digest()).decode().rstrip("=")
    browser.open(authorize_url(origin, client, callback, "a state & more", challenge))
    log_in(browser, user, password, shots)
    text = browser.text()
    check("consent.shown", "Connect" in text and "Allow" in text, text)
    check("consent.names_the_redirect", up.urlsplit(callback).netloc in text, text)
    check("consent.both_buttons_alike", browser.script(
        "const [a, b] = [...document.querySelectorAll('.pair button')].map(x => x.getBoundingClientRect());"
        "return a.width === b.width && a.height === b.height && a.height >= 44"))
    shoot(browser, shots, "consent")
    browser.click("button[value=allow]")
    if not check("allow.back_at_the_client", answered(), (browser.url(), browser.complaints())):
        return
    answer = Callback.seen.pop()
    check("allow.code_state_iss", bool(answer.get("code")) and answer.get("state") == "a state & more" and answer.get("iss") == issuer, answer)
    form = {"grant_type": "authorization_code", "client_id": client, "code": answer.get("code", ""),
            "redirect_uri": callback, "code_verifier": verifier, "resource": origin + "/mcp"}
    status, text = send(origin + "/token", form, {"form": "1"})
    token = json.loads(text).get("access_token", "") if check("token.200", status == 200, text) else ""
    init = {"jsonrpc": "2.0", "id": 1, "method": "initialize", "params": {
        "protocolVersion": "2025-11-25", "capabilities": {}, "clientInfo": {"name": "browser-check", "version": "1"}}}
    headers = {"Authorization": "Bearer " + token, "Accept": "application/json, text/event-stream"}
    status, text = send(origin + "/mcp", init, headers)
    check("call.200", status == 200, (status, text))
    call = {"jsonrpc": "2.0", "id": 2, "method": "tools/call", "params": {"name": "get_current_date", "arguments": {}}}
    status, text = send(origin + "/mcp", call, headers)
    check("tool_call.answers", status == 200 and "error" not in json.loads(text), (status, text))


def deny(browser, origin, client, callback, issuer):
    browser.open(authorize_url(origin, client, callback, "no", "x" * 43))
    browser.click("button[value=deny]")
    if check("deny.back_at_the_client", answered(), browser.url()):
        answer = Callback.seen.pop()
        good = answer.get("error") == "access_denied" and answer.get("iss") == issuer and "code" not in answer
        check("deny.error_state_iss", good, answer)


def account(browser, origin, shots):
    browser.open(origin + "/account/apps")
    check("apps.lists_the_client", "Browser check" in browser.text())
    shoot(browser, shots, "apps")
    browser.open(origin + "/account/tokens")
    browser.fill("#name", "A script")
    browser.click("section button.primary")
    token = browser.script("return document.querySelector('#made').value")
    check("tokens.shown_once", token.startswith("tvx_pat_"))
    shoot(browser, shots, "tokens")
    browser.open(origin + "/account/tokens")
    check("tokens.not_shown_again", token not in browser.script("return document.documentElement.innerHTML"))
    browser.open(origin + "/account/password")
    shoot(browser, shots, "password")
    browser.open(origin + "/account/apps")
    browser.click("button[aria-label='Disconnect Browser check']")
    check("apps.disconnects", "Browser check" not in browser.text(), browser.text())
    browser.open(origin + "/authorize?client_id=none")
    shoot(browser, shots, "error")
    browser.open(origin + "/account/apps")
    browser.click(".quiet button.link")
    check("logout.leads_to_login", browser.url().startswith(origin + "/login"), browser.url())


def main():
    ap = argparse.ArgumentParser()
    for flag in ("--url", "--user", "--password"):
        ap.add_argument(flag, required=True)
    ap.add_argument("--shots", type=pathlib.Path)
    args = ap.parse_args()
    chromium = shutil.which("chromium") or shutil.which("google-chrome")
    driver = shutil.which("chromedriver")
    if not chromium or not driver:
        print("SKIPPED: chromium and chromedriver are needed, and are not here")
        return 0
    if args.shots:
        args.shots.mkdir(parents=True, exist_ok=True)
    origin = args.url.removesuffix("/mcp")
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Callback)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    callback = f"http://127.0.0.1:{server.server_port}/callback"
    issuer = json.loads(send(origin + "/.well-known/oauth-authorization-server")[1])["issuer"]
    _, text = send(origin + "/register", {"client_name": "Browser check", "redirect_uris": [callback]})
    client = json.loads(text)["client_id"]
    browser = Browser(driver, chromium)
    try:
        allow(browser, origin, client, callback, issuer, args.user, args.password, args.shots)
        deny(browser, origin, client, callback, issuer)
        account(browser, origin, args.shots)
        check("policy.stopped_nothing", not browser.complaints(), browser.complaints())
    finally:
        browser.close()
    print(f"{len(passed)} passed, {len(failed)} failed")
    return 1 if failed else 0


if __name__ == "__main__":
    sys.exit(main())
