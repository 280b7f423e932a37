"""One scenario in a real browser: SCENARIO LINK FOLDER. What it says on a line of its own is done by the test, `restart` for one: the server is killed and
started again."""

import base64
import os
import re
import sys

from playwright.sync_api import expect, sync_playwright

PATIENCE = 60_000
expect.set_options(timeout=PATIENCE)


def have(done):
    """Has the test do something, and waits until it is done."""
    print(done, flush=True)
    sys.stdin.readline()


def restart():
    have("restart")


def sign_in(page, link):
    page.goto(link)
    page.wait_for_selector("#prompt")
    expect(page.locator("#model option").nth(1)).to_be_attached()
    assert "#" not in page.url.replace("/#", ""), page.url


def prompt(page, text):
    page.fill("#prompt", text)
    page.press("#prompt", "Enter")


def answer(page, name):
    page.click(f"#log .card [data-answer={name}]")


def last_call(page):
    return page.locator("#log .call").last


def asks_and_streams(page, link, _):
    sign_in(page, link)
    prompt(page, "hello")
    expect(page.locator("#log .message.model").last).to_contain_text("It streams.")
    expect(page.locator("#log .thoughts")).to_have_count(1)
    expect(page.locator("#sessions a")).to_have_count(1)
    page.reload()
    expect(page.locator("#log .message.user")).to_contain_text("hello")
    expect(page.locator("#log .message.model").last).to_contain_text("It streams.")


def approves_edits_and_denies(page, link, _):
    sign_in(page, link)
    prompt(page, "go")
    card = page.locator("#log .card")
    expect(card.locator(".diff")).to_contain_text("+Hello.")
    expect(page).to_have_title(re.compile(r"^\(1\) "))
    answer(page, "yes")
    expect(page.locator("#log .call").first).to_have_attribute("data-status", "success")
    expect(card).to_contain_text("touch wrong")
    answer(page, "edit")
    arguments = page.locator("#log .card textarea")
    expect(arguments).to_have_value(re.compile("touch wrong"))
    arguments.fill('{"command": "touch right"}')
    answer(page, "edited")
    expect(card).to_contain_text("b.txt")
    answer(page, "no")
    page.fill("#log .card input[type=text]", "call it c.txt")
    page.press("#log .card input[type=text]", "Enter")
    expect(last_call(page)).to_contain_text("Denied: call it c.txt")
    expect(page.locator("#log .message.model").last).to_contain_text("All done.")
    expect(page).to_have_title(re.compile("^go"))


def the_keyboard_is_enough(page, link, _):
    sign_in(page, link)
    page.keyboard.type("go")
    page.keyboard.press("Enter")
    allow = page.locator("#log .card [data-answer=yes]")
    expect(allow).to_be_visible()
    for _ in range(60):
        page.keyboard.press("Shift+Tab")
        if allow.evaluate("node => node === document.activeElement"):
            break
    page.keyboard.press("Enter")
    expect(page.locator("#log .message.model").last).to_contain_text("Written.")


def two_tabs_agree(page, link, _):
    sign_in(page, link)
    prompt(page, "go")
    expect(page.locator("#log .card")).to_be_visible()
    other = page.context.new_page()
    other.goto(page.url)
    expect(other.locator("#log .card")).to_be_visible()
    for tab in (page, other):
        tab.evaluate("setTimeout(() => document.querySelector('#log .card [data-answer=yes]').click(), 50)")
    for tab in (page, other):
        expect(tab.locator("#log .answered")).to_have_text("Allowed · you")
        expect(tab.locator("#log .message.model").last).to_contain_text("Written.")


def tabs_and_a_terminal_race(page, link, _):
    sign_in(page, link)
    prompt(page, "go")
    expect(page.locator("#log .card")).to_be_visible()
    other = page.context.new_page()
    other.goto(page.url)
    expect(other.locator("#log .card")).to_be_visible()
    answer(other, "no")
    other.fill("#log .card input[type=text]", "said in the second tab")
    have("attach " + page.url.split("#")[1])
    # All three within a few milliseconds, in whatever order: who comes too late may find no card any more.
    other.evaluate("setTimeout(() => document.querySelector('#log .card [data-answer=denied]')?.click(), 10)")
    have("race")
    page.evaluate("document.querySelector('#log .card [data-answer=yes]')?.click()")
    told = []
    for tab in (page, other):
        expect(tab.locator("#log .message.model").last).to_contain_text("Over.")
        expect(tab.locator("#log .answered")).to_have_count(1)
        expect(tab.locator("#log .card")).to_have_count(0)
        told.append(tab.locator("#log .answered").inner_text())
    possible = ("Allowed · you", "Denied: said in the second tab · you", "Denied: said at the terminal · you")
    assert told[0] == told[1] and told[0] in possible, told
    have("won " + told[0])


def a_hidden_tab_rests(page, link, _):
    page.add_init_script("""
        window.away = false;
        Object.defineProperty(Document.prototype, "hidden", { get: () => window.away });
        const real = window.EventSource;
        window.EventSource = class extends real {
            constructor(...all) { super(...all); window.source = this; }
        };
    """)
    page.clock.install()
    sign_in(page, link)
    prompt(page, "one")
    expect(page.locator("#log .message.model").last).to_contain_text("First.")
    see = "(away) => { window.away = away; document.dispatchEvent(new Event('visibilitychange')); }"
    page.evaluate(see, True)
    page.clock.fast_forward(29_000)
    assert page.evaluate("source.readyState") == 1, "it follows for a while"
    page.clock.fast_forward(2_000)
    assert page.evaluate("source.readyState") == 2, "it follows no longer"
    other = page.context.new_page()
    other.goto(page.url)
    prompt(other, "two")
    expect(other.locator("#log .card")).to_be_visible()
    assert not page.title().startswith("(1)"), page.title()
    # It still counts what waits, now and then.
    page.clock.fast_forward(16_000)
    expect(page).to_have_title(re.compile(r"^\(1\) "))
    expect(page.locator("#log .card")).to_have_count(0)
    page.evaluate(see, False)
    expect(page.locator("#log .card")).to_be_visible()
    answer(page, "yes")
    for tab in (page, other):
        expect(tab.locator("#log .message.model").last).to_contain_text("Written.")
        expect(tab.locator("#log .message.user")).to_have_count(2)
        expect(tab.locator("#log .answered")).to_have_text("Allowed · you")


def reach(page, wanted, key="Shift+Tab"):
    """Goes there with the keyboard."""
    expect(wanted).to_be_visible()
    for _ in range(80):
        if wanted.evaluate("node => node === document.activeElement"):
            return
        page.keyboard.press(key)
    raise AssertionError(f"{wanted} is not reached by {key}")


def denied_and_edited_by_keys(page, link, _):
    sign_in(page, link)
    page.keyboard.type("go")
    page.keyboard.press("Enter")
    card = page.locator("#log .card")
    reach(page, card.locator("[data-answer=no]"))
    page.keyboard.press("Enter")
    # The field for the reason has the focus by itself.
    page.keyboard.type("run a command instead")
    page.keyboard.press("Enter")
    expect(page.locator("#log .answered").first).to_have_text("Denied: run a command instead · you")
    edit = card.locator("[data-answer=edit]")
    expect(edit).to_be_visible()
    page.keyboard.press("Tab")
    reach(page, edit, "Tab")
    page.keyboard.press("Enter")
    arguments = card.locator("textarea")
    expect(arguments).to_be_focused()
    page.keyboard.press("Control+a")
    page.keyboard.type('{"command": "touch right"}')
    reach(page, card.locator("[data-answer=edited]"), "Tab")
    page.keyboard.press("Enter")
    expect(page.locator("#log .answered").last).to_have_text("Allowed with other arguments · you")
    expect(page.locator("#log .message.model").last).to_contain_text("All done.")


def a_database_is_away(page, link, _):
    sign_in(page, link)
    prompt(page, "one")
    expect(page.locator("#log .message.model").last).to_contain_text("First.")
    have("stop")
    expect(page.locator("#trouble")).to_contain_text("The database cannot be reached")
    have("start")
    expect(page.locator("#trouble")).to_be_hidden()
    prompt(page, "two")
    expect(page.locator("#log .message.model").last).to_contain_text("Second.")


def changes_of_turns_are_undone(page, link, folder):
    sign_in(page, link)
    page.select_option("#mode", "auto_edit")
    prompt(page, "go")
    expect(page.locator("#log .message.model").last).to_contain_text("Both written.")
    work = page.locator("#place").inner_text()
    read = lambda name: open(os.path.join(work, name)).read() if os.path.exists(os.path.join(work, name)) else None
    block = page.locator("#log .changes")
    expect(block).to_have_count(1)
    expect(block.locator("p")).to_contain_text("2 files changed")
    first, second = block.locator("li").nth(0), block.locator("li").nth(1)
    # The first file was written twice: what is shown is what the turn made of it in all.
    expect(first.locator("summary")).to_have_text(re.compile(r"^old\.txt.*\+1−1$"))
    expect(second.locator("summary")).to_have_text(re.compile(r"^new\.txt.*\+1−0$"))
    first.locator("summary").click()
    expect(first.locator(".diff")).to_contain_text("-Before.")
    expect(first.locator(".diff")).to_contain_text("+After.")
    assert "Between." not in first.inner_text(), first.inner_text()
    second.locator("[data-undo]").click()
    expect(second).to_contain_text("taken back")
    assert (read("old.txt"), read("new.txt")) == ("After.\n", None)
    # The next turn changes nothing; the earlier one is undone all the same.
    prompt(page, "and now")
    expect(page.locator("#log .message.model").last).to_contain_text("Nothing.")
    expect(block).to_have_count(1)
    block.locator("p [data-undo=all]").click()
    expect(first).to_contain_text("taken back")
    assert (read("old.txt"), read("new.txt")) == ("Before.\n", None)
    page.reload()
    expect(block.locator(".undone")).to_have_count(2)
    expect(block.locator("[data-undo]")).to_have_count(0)
    block.locator("p [data-redo=all]").click()
    expect(block.locator(".undone")).to_have_count(0)
    assert (read("old.txt"), read("new.txt")) == ("After.\n", "Hello.\n")
    # What somebody wrote since is not lost: the undo is refused and says which file it is.
    with open(os.path.join(work, "new.txt"), "w") as file:
        file.write("Mine.\n")
    block.locator("p [data-undo=all]").click()
    expect(page.locator("#trouble")).to_contain_text("new.txt")
    assert (read("old.txt"), read("new.txt")) == ("After.\n", "Mine.\n")


def comes_here(page):
    """Waits until the session that is shown runs in the server."""
    for _ in range(PATIENCE // 100):
        state = page.evaluate("fetch('/api/v1/sessions/' + location.hash.slice(1)).then((answer) => answer.json())")["state"]
        if state == "running":
            return
        page.wait_for_timeout(100)
    raise AssertionError(state)


def a_session_of_a_terminal_is_asked_for(page, link, _):
    sign_in(page, link)
    page.locator("#sessions a").click()
    expect(page.locator("#badge")).to_have_text("open in a terminal")
    expect(page.locator("#log .card")).to_be_visible()
    page.click("#take")
    expect(page.locator("#take")).to_have_text("asked there …")
    # Nobody there has left it: it stays theirs, and its question is answered all the same.
    expect(page.locator("#badge")).to_have_text("open in a terminal")
    answer(page, "yes")
    expect(page.locator("#log .message.model").last).to_contain_text("Written.")
    expect(page.locator("#take")).to_be_hidden()
    expect(page.locator("#badge")).to_be_hidden()
    comes_here(page)


def a_session_is_kept_and_handed_over(page, link, _):
    sign_in(page, link)
    page.locator("#sessions a").click()
    expect(page.locator("#badge")).to_have_text("open in a terminal")
    page.click("#take")
    expect(page.locator("#take")).to_have_text("asked there …")
    have("/handover no")
    expect(page.locator("#trouble")).to_contain_text("keeps it there")
    expect(page.locator("#take")).to_have_text("Go on here")
    page.click("#take")
    have("/handover")
    comes_here(page)
    expect(page.locator("#take")).to_be_hidden()
    expect(page.locator("#badge")).to_be_hidden()
    expect(page.locator("#trouble")).to_be_hidden()
    # Who runs it knows how much its model can read.
    expect(page.locator("#figures meter")).to_be_visible()


def an_answer_is_shown_to_the_letter(page, link, _):
    sign_in(page, link)
    page.locator("#sessions a").click()
    said = page.locator("#log .message.model .words")
    expect(said).to_have_text("see __init__.py and *this*")
    expect(page.locator("#log .message.model .markdown")).to_have_count(0)


def an_address_leads_nowhere_else(page, link, _):
    sign_in(page, link)
    origin = link.split("/sign-in")[0]
    asked = []
    page.on("request", lambda request: asked.append(request.url))
    for name in ("../users/x", "%2e%2e%2fusers%2fx", "..", "a?search=b", "x%", "a/b"):
        page.goto("about:blank")
        page.goto(f"{origin}/#{name}")
        expect(page.locator("#trouble")).to_contain_text("not there any more")
    wrong = [url for url in asked if "/users" in url or url.endswith("/api/v1/") or "search=b" in url.split("/api/v1/sessions")[-1]]
    assert not wrong, wrong


def lost_text_is_told_again(page, link, _):
    # What a browser that cannot keep up sees: some events never come, and then it is told so.
    page.add_init_script("""
        const real = window.EventSource;
        window.EventSource = class extends real {
            addEventListener(name, listener) {
                let turns = 0;
                super.addEventListener(name, (event) => {
                    if (name !== "turn" || window.lost) return listener(event);
                    turns += 1;
                    // However many pieces come in one event, the second one is lost.
                    if (turns < 2) return listener(event);
                    window.lost = true;
                    document.documentElement.dataset.lost = "yes";
                    this.dispatchEvent(new MessageEvent("missed", { data: "null" }));
                });
            }
        };
    """)
    sign_in(page, link)
    prompt(page, "go")
    # The answer has not ended: nothing but the events tells it.
    expect(page.locator("html")).to_have_attribute("data-lost", "yes")
    expect(page.locator("#log .streaming")).to_contain_text("word 0, word 1, word 2, word 3, word 4,")
    page.reload()
    expect(page.locator("#log .streaming")).to_contain_text("word 0, word 1, word 2, word 3, word 4,")
    expect(page.locator("#log .message.user")).to_have_count(1)
    page.click("#stop")
    expect(page.locator("#log")).to_contain_text("stopped")
    expect(page.locator("#log .streaming")).to_have_count(0)


def the_inbox_answers_across_sessions(page, link, _):
    sign_in(page, link)
    prompt(page, "go")
    expect(page.locator("#log .card")).to_be_visible()
    page.click("#new")
    prompt(page, "go too")
    expect(page.locator("#inbox-count")).to_have_text("2")
    page.click("#inbox-open")
    expect(page.locator("#inbox .card")).to_have_count(2)
    expect(page.locator("#title")).to_have_text("Questions")
    expect(page.locator("#mode")).to_be_hidden()
    page.locator("#inbox .card [data-answer=yes]").first.click()
    expect(page.locator("#inbox .card")).to_have_count(1)
    page.locator("#inbox .card [data-answer=yes]").first.click()
    expect(page.locator("#inbox")).to_contain_text("Nothing waits for you.")
    expect(page.locator("#inbox-count")).to_be_hidden()


def a_restart_loses_nothing(page, link, _):
    sign_in(page, link)
    prompt(page, "go")
    expect(page.locator("#log .card")).to_be_visible()
    restart()
    expect(page.locator("body.lost")).to_have_count(0)
    expect(page.locator("#badge")).to_have_text("a turn was left open")
    answer(page, "yes")
    expect(page.locator("#log .message.model").last).to_contain_text("Written.")
    expect(page.locator("#log .message.user")).to_have_count(1)


def a_removed_session_is_left(page, link, _):
    sign_in(page, link)
    prompt(page, "hello")
    expect(page.locator("#log .message.model").last).to_contain_text("Hello.")
    other = page.context.new_page()
    other.goto(page.url)
    expect(other.locator("#log .message.model").last).to_contain_text("Hello.")
    page.on("dialog", lambda dialog: dialog.accept())
    page.click("#more summary")
    page.click("#delete")
    expect(page.locator("#sessions a")).to_have_count(0)
    expect(other.locator("#trouble")).to_contain_text("not there any more")
    expect(other.locator("#sessions a")).to_have_count(0)


def nothing_becomes_script(page, link, _):
    bad = []
    page.on("dialog", lambda dialog: (bad.append("a dialog"), dialog.dismiss()))
    page.on("request", lambda request: bad.append(request.url) if not request.url.startswith(link.split("/sign-in")[0]) and not request.url.startswith("data:") else None)
    sign_in(page, link)
    prompt(page, '<img src=x onerror="alert(1)"><script>alert(1)</script>')
    card = page.locator("#log .card")
    expect(card.locator(".diff")).to_contain_text("<script>")
    card.locator("[data-diff=side]").click()
    expect(card.locator(".diff.wide")).to_contain_text("onerror")
    answer(page, "yes")
    expect(page.locator("#log .message.model").last).to_contain_text("the end")
    expect(page.locator("#log .call").last).to_have_attribute("data-status", "success")
    markup = page.eval_on_selector_all("#log script, #log iframe, #log img, #log [onerror], #log [onclick], #log style", "nodes => nodes.length")
    links = page.eval_on_selector_all("#log a", "nodes => nodes.map(node => node.protocol)")
    assert markup == 0, page.content()
    assert set(links) <= {"https:", "http:"}, links
    assert page.evaluate("window.pwned") is None
    try:
        page.evaluate("document.body.innerHTML = '<b>x</b>'")
        raise AssertionError("markup could be put in from a text")
    except Exception as error:
        assert "TrustedHTML" in str(error), error
    assert not bad, bad


def enter(page, link, name):
    page.goto(link.split("#")[0])
    page.fill("#name", name)
    page.fill("#password", "a long enough one")
    page.click("#enter")
    page.wait_for_selector("#prompt")
    expect(page.locator("#who")).to_contain_text(name)


def passwords_and_sharing(page, link, _):
    page.goto(link.split("#")[0])
    page.fill("#name", "anna")
    page.fill("#password", "a wrong guess it is")
    page.click("#enter")
    expect(page.locator("#state")).to_contain_text("wrong")
    enter(page, link, "anna")
    prompt(page, "go")
    expect(page.locator("#log .card")).to_be_visible()
    page.click("#more summary")
    page.click("#share")
    page.fill("#dialog input[name=user]", "nobody")
    page.click("#dialog button[type=submit]")
    expect(page.locator("#dialog .card-trouble")).to_contain_text("nobody")
    page.fill("#dialog input[name=user]", "ben")
    page.select_option("#dialog select", "read")
    page.click("#dialog button[type=submit]")
    expect(page.locator("#dialog [data-item=ben]")).to_contain_text("may read")
    ben = page.context.browser.new_context().new_page()
    ben.set_default_timeout(PATIENCE)
    enter(ben, link, "ben")
    expect(ben.locator("#sessions a")).to_contain_text("of anna")
    ben.locator("#sessions a").click()
    expect(ben.locator("#prompt")).to_be_disabled()
    expect(ben.locator("#inbox-count")).to_be_hidden()
    page.fill("#dialog input[name=user]", "ben")
    page.select_option("#dialog select", "approve")
    page.click("#dialog button[type=submit]")
    expect(ben.locator("#inbox-count")).to_have_text("1")
    answer(ben, "yes")
    expect(ben.locator("#log .message.model").last).to_contain_text("Written.")
    page.click("#dialog button[aria-label=Close]")
    expect(page.locator("#log .answered")).to_have_text("Allowed · ben")
    ben.click("#sign-out")
    ben.wait_for_selector("#password-form")


def one_looks_after_an_account(page, link, folder):
    """A user keeps a key, makes a token and has another password; an admin adds somebody."""
    enter(page, link, "anna")
    expect(page.locator("#no-key")).to_be_visible()
    page.fill("#prompt", "/help")
    page.press("#prompt", "Enter")
    expect(page.locator("#trouble")).to_contain_text("terminal's")
    assert page.locator("#sessions a").count() == 0
    page.fill("#prompt", "")
    page.click("#add-key")
    sections = page.locator("#dialog section")
    keys = sections.filter(has_text="Keys for models")
    keys.locator("select").select_option("openai")
    keys.locator("input").fill("a key of two words")
    keys.locator("button[type=submit]").click()
    expect(keys.locator(".card-trouble")).to_contain_text("one word")
    keys.locator("input").fill("key-of-anna")
    keys.locator("button[type=submit]").click()
    expect(keys.locator("[data-item=openai]")).to_be_visible()
    expect(page.locator("#no-key")).to_be_hidden()
    expect(page.locator("#model option[value='openai/gpt-4.1']")).to_have_count(1)
    assert "key-of-anna" not in page.content()
    tokens = sections.filter(has_text="Tokens for programs")
    tokens.locator("input").fill("a script")
    tokens.locator("button[type=submit]").click()
    expect(tokens.locator("[data-item='a script']")).to_be_visible()
    header = tokens.locator(".secret").inner_text()
    asked = page.context.browser.new_context().request
    origin = link.split("/sign-in")[0]
    assert asked.get(f"{origin}/api/v1/me", headers={"Authorization": header.removeprefix("Authorization: ")}).json()["name"] == "anna"
    tokens.locator("button[aria-label='Take back: a script']").click()
    expect(tokens.locator("[data-item='a script']")).to_have_count(0)
    accounts = sections.filter(has_text="Accounts")
    accounts.locator("[name=name]").fill("ben")
    accounts.locator("[name=workspace]").fill(f"{folder}/given/anna")
    accounts.locator("[name=password]").fill("a long enough one")
    accounts.locator("button[type=submit]").click()
    expect(accounts.locator(".card-trouble").last).to_contain_text("not yours to give")
    keys.locator("button[aria-label='Forget: openai']").click()
    expect(keys).to_contain_text("You keep none here")
    change = sections.filter(has_text="Password")
    change.locator("[name=old]").fill("a long enough one")
    change.locator("[name=new]").fill("another long enough one")
    change.locator("button[type=submit]").click()
    page.wait_for_selector("#password-form")
    page.fill("#name", "anna")
    page.fill("#password", "another long enough one")
    page.click("#enter")
    page.wait_for_selector("#prompt")


def the_owner_adds_accounts(page, link, folder):
    sign_in(page, link)
    page.click("#account")
    accounts = page.locator("#dialog section").filter(has_text="Accounts")
    for name, place in (("ben", "given/ben"), ("carl", "given/ben/carl")):
        accounts.locator("[name=name]").fill(name)
        accounts.locator("[name=workspace]").fill(f"{folder}/{place}")
        accounts.locator("[name=password]").fill("a long enough one")
        accounts.locator("button[type=submit]").click()
        expect(accounts.locator(f"[data-item={name}]")).to_be_visible()
    expect(accounts.locator("[data-item=ben]")).to_contain_text("reach each other's files")
    ben = page.context.browser.new_context().new_page()
    ben.set_default_timeout(PATIENCE)
    enter(ben, link, "ben")
    page.on("dialog", lambda question: question.accept())
    accounts.locator("button[aria-label='Remove: carl']").click()
    expect(accounts.locator("[data-item=carl]")).to_have_count(0)
    expect(accounts.locator("[data-item=ben]")).not_to_contain_text("reach each other's files")


def diffs_and_charts(page, link, folder):
    sign_in(page, link)
    page.select_option("#model", "openai/gpt-4.1")
    prompt(page, "go")
    card = page.locator("#log .card")
    expect(card.locator("pre.diff")).to_contain_text("+Hello.")
    card.locator("[data-diff=side]").click()
    expect(card.locator(".diff.wide td.added")).to_have_text("Hello.")
    answer(page, "yes")
    expect(page.locator("#log .message.model").last).to_contain_text("Written.")
    page.reload()
    expect(page.locator("#log .message.model").last).to_contain_text("Written.")
    expect(page.locator("#figures meter")).to_be_visible()
    page.click("#more summary")
    page.click("#show-figures")
    expect(page.locator("#dialog svg.chart rect").first).to_be_visible()
    expect(page.locator("#dialog .costs").first).to_contain_text("openai/gpt-4.1")
    page.screenshot(path=os.path.join(folder, "figures.png"))


def another_origin_does_nothing(page, link, _):
    import http.server
    import threading

    sign_in(page, link)
    target = link.split("/sign-in")[0]
    evil = """<iframe name=sink></iframe><form id=f method=post enctype=text/plain target=sink action="%s/api/v1/links"><input name=a></form>""" % target

    class Page(http.server.BaseHTTPRequestHandler):
        def do_GET(self):
            self.send_response(200)
            self.send_header("content-type", "text/html")
            self.end_headers()
            self.wfile.write(evil.encode())

        def log_message(self, *_):
            pass

    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Page)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    try:
        # Of the same site, so that the browser sends its cookie, and of another one.
        for host in ("127.0.0.1", "localhost"):
            tab = page.context.new_page()
            tab.goto("http://%s:%d/" % (host, server.server_port))
            tried = tab.evaluate(
                """async (target) => {
                    const of = (work) => work.then((answer) => answer.type === "opaque" ? "opaque" : "read", () => "refused");
                    const post = { method: "POST", credentials: "include", body: "{}" };
                    return [
                        await of(fetch(target + "/api/v1/links", { ...post, mode: "no-cors" })),
                        await of(fetch(target + "/api/v1/sessions", { ...post, mode: "no-cors", headers: { "content-type": "text/plain" } })),
                        await of(fetch(target + "/api/v1/sessions", { ...post, headers: { "content-type": "application/json" } })),
                        await of(fetch(target + "/api/v1/sessions", { credentials: "include" })),
                    ];
                }""",
                target,
            )
            assert "read" not in tried, tried
            with tab.expect_response(lambda response: response.url.endswith("/api/v1/links")) as sent:
                tab.evaluate("document.getElementById('f').submit()")
            assert sent.value.status in (401, 403), sent.value.status
            tab.goto("about:blank")
            tab.close()
    finally:
        server.shutdown()
    expect(page.locator("#sessions a")).to_have_count(0)


def axe_finds_nothing(page, link, _):
    from axe_playwright_python.sync_playwright import Axe

    # What looks at the page comes from outside of it.
    context = page.context.browser.new_context(bypass_csp=True)
    page = context.new_page()
    page.set_default_timeout(PATIENCE)

    def look(where):
        for scheme in ("light", "dark"):
            page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
            found = Axe().run(page).response["violations"]
            serious = [(one["id"], [node["html"] for node in one["nodes"]]) for one in found if one["impact"] in ("serious", "critical")]
            assert not serious, (where, scheme, serious)

    page.goto(link.split("#")[0])
    page.wait_for_selector("#password-form")
    look("sign-in")
    sign_in(page, link)
    look("nothing yet")
    prompt(page, "go")
    expect(page.locator("#log .card")).to_be_visible()
    look("a question")
    page.locator("#log [data-diff=side]").click()
    look("side by side")
    page.click("#inbox-open")
    look("the inbox")
    page.click("#inbox-open")
    answer(page, "yes")
    expect(page.locator("#log .message.model").last).to_contain_text("Written.")
    page.locator("#log .changes summary").click()
    expect(page.locator("#log .changes .diff")).to_be_visible()
    look("what a turn changed")
    page.click("#more summary")
    look("the menu")
    page.click("#show-figures")
    expect(page.locator("#dialog svg.chart")).to_be_visible()
    look("figures")
    page.click("#dialog button[aria-label=Close]")
    page.click("#more summary")
    page.click("#share")
    expect(page.locator("#dialog .listing")).to_be_visible()
    look("sharing")
    page.click("#dialog button[aria-label=Close]")
    page.click("#account")
    expect(page.locator("#dialog section").filter(has_text="Accounts")).to_be_visible()
    look("an account")


def the_conversation_goes_back(page, link, _):
    sign_in(page, link)
    page.select_option("#mode", "auto_edit")
    prompt(page, "go")
    expect(page.locator("#log .message.model").last).to_contain_text("Written.")
    expect(page.locator("#log .answered")).to_have_count(0)
    page.click("#more summary")
    page.click("#undo")
    expect(page.locator("#log")).to_contain_text("Taken back: a.txt")
    page.locator("#log .message.user").hover()
    page.click("text=Copy from here")
    expect(page.locator("#sessions a")).to_have_count(2)
    expect(page.locator("#log .message")).to_have_count(0)
    page.go_back()
    expect(page.locator("#log .message.user")).to_have_count(1)
    page.locator("#log .message.user").hover()
    page.click("text=Rewind to before this")
    expect(page.locator("#log .message")).to_have_count(0)
    page.select_option("#mode", "default")
    page.select_option("#model", "openai/gpt-4.1")
    expect(page.locator("#log")).to_contain_text("openai/gpt-4.1 answers from now on.")
    prompt(page, "again")
    expect(page.locator("#log .card")).to_be_visible()


def a_form_and_its_defaults(page, link, _):
    sign_in(page, link)
    mode, model, folder = page.locator("#mode"), page.locator("#model"), page.locator("#folder")

    def as_the_settings_say():
        expect(mode).to_have_value("auto_edit")
        expect(model).to_have_value("")
        expect(model.locator("option").first).to_have_text("openai/gpt-test (settings)")
        expect(folder).to_be_visible()

    as_the_settings_say()
    own = folder.input_value()
    assert own.startswith("/"), own
    prompt(page, "go")
    expect(page.locator("#log .message.model").last).to_contain_text("Written.")
    expect(page.locator("#log .answered")).to_have_count(0)
    expect(mode).to_have_value("auto_edit")
    expect(model).to_have_value("openai/gpt-test")
    expect(model.locator("option[value='']")).to_have_count(0)
    expect(folder).to_be_hidden()
    expect(page.locator("#place")).to_have_text(own)
    page.click("#new")
    as_the_settings_say()
    assert folder.input_value() == own
    folder.fill("/no/such/folder")
    folder.blur()
    expect(page.locator("#trouble")).to_contain_text("/no/such/folder")
    folder.fill(own + "/below")
    folder.blur()
    expect(page.locator("#trouble")).to_be_hidden()
    page.select_option("#mode", "default")
    page.select_option("#model", "openai/gpt-4.1")
    prompt(page, "go below")
    expect(page.locator("#log .card")).to_be_visible()
    expect(page.locator("#place")).to_have_text(own + "/below")
    expect(mode).to_have_value("default")
    answer(page, "yes")
    expect(page.locator("#log .message.model").last).to_contain_text("Written, too.")
    page.on("dialog", lambda dialog: dialog.accept())
    page.click("#more summary")
    page.click("#delete")
    expect(page.locator("#sessions a")).to_have_count(1)
    as_the_settings_say()
    assert folder.input_value() == own


def a_long_output_is_linked(page, link, _):
    sign_in(page, link)
    page.select_option("#mode", "yolo")
    prompt(page, "go")
    expect(page.locator("#log .message.model").last).to_contain_text("Much.")
    last_call(page).locator("summary").click()
    with page.expect_download() as download:
        last_call(page).locator("a.whole").click()
    with open(download.value.path()) as file:
        text = file.read()
    assert text.endswith("59999\n60000\n") and "\n30000\n" in text, len(text)


DOT = "iVBORw0KGgoAAAANSUhEUgAAAAEAAAABCAYAAAAfFcSJAAAADUlEQVR42mNk+M9QDwADhgGAWjR9awAAAABJRU5ErkJggg=="

CARRY = """([kind, target, name, picture]) => {
    const bytes = Uint8Array.from(atob(picture), (one) => one.charCodeAt(0));
    const data = new DataTransfer();
    data.items.add(new File([bytes], name, { type: "image/png" }));
    const options = { bubbles: true, cancelable: true, clipboardData: data, dataTransfer: data };
    document.querySelector(target).dispatchEvent(kind === "paste" ? new ClipboardEvent(kind, options) : new DragEvent(kind, options));
}"""


def drops_searches_and_live_output(page, link, folder):
    sign_in(page, link)
    page.evaluate(CARRY, ["drop", "#conversation", "dropped.png", DOT])
    page.evaluate(CARRY, ["paste", "#prompt", "pasted.png", DOT])
    expect(page.locator("#attached li")).to_have_count(2)
    page.click("[aria-label='Leave dropped.png out']")
    expect(page.locator("#attached li")).to_have_text(re.compile("pasted.png"))
    prompt(page, "words about apples")
    expect(page.locator("#log .message.user img")).to_have_count(1)
    expect(page.locator("#log .message.model").last).to_contain_text("Fruit.")
    page.click("#new")
    page.select_option("#mode", "yolo")
    prompt(page, "go")
    expect(last_call(page)).to_have_attribute("data-status", "executing")
    expect(last_call(page).locator("pre.live")).to_have_text("begun\n")
    page.reload()
    expect(last_call(page)).to_have_attribute("data-status", "executing")
    expect(last_call(page).locator("pre.live")).to_have_text("begun\n")
    place = page.locator("#place").inner_text()
    open(os.path.join(place, "go"), "w").close()
    expect(page.locator("#log .message.model").last).to_contain_text("Done.")
    expect(last_call(page)).to_have_attribute("data-status", "success")
    expect(page.locator("#sessions a")).to_have_count(2)
    page.fill("#search", "apples")
    expect(page.locator("#sessions a")).to_have_count(1)
    expect(page.locator("#sessions a")).to_contain_text("words about apples")
    page.fill("#search", "nothing of that kind")
    expect(page.locator("#sessions")).to_have_text("Nothing found.")
    page.fill("#search", "")
    expect(page.locator("#sessions a")).to_have_count(2)
    page.locator("#sessions a").last.focus()
    page.keyboard.press("Enter")
    expect(page.locator("#log .message.user img")).to_have_count(1)
    for key, shown in (("i", "#inbox"), ("n", "#folder")):
        page.evaluate("document.activeElement.blur()")
        page.keyboard.press(key)
        expect(page.locator(shown)).to_be_visible()


def files_go_along(page, link, folder):
    sign_in(page, link)
    page.set_input_files("#file", {"name": "dot.png", "mimeType": "image/png", "buffer": base64.b64decode(DOT)})
    expect(page.locator("#attached")).to_contain_text("dot.png")
    prompt(page, "what is it")
    expect(page.locator("#log .message.user img")).to_be_visible()
    expect(page.locator("#log .message.model").last).to_contain_text("A dot.")


def nothing_hides_in_a_question(page, link, _):
    sign_in(page, link)
    prompt(page, "go")
    command = page.locator("#log .card .code pre")
    expect(command).to_contain_text("echo hi ‹U+202E›txt.exe‹U+200B›")
    expect(command).to_contain_text("touch hidden")
    wide = command.evaluate("node => node.scrollWidth > node.clientWidth")
    assert not wide, "something stands beyond the edge"


def an_answer_is_read_as_it_is_written(page, link, _):
    sign_in(page, link)
    prompt(page, "go")
    expect(page.locator("#log .message.model").last).to_contain_text("run ‹U+202E›exe.txt‹U+202C› now")
    sides = page.locator("#log td").evaluate_all("(cells) => cells.map((cell) => getComputedStyle(cell).textAlign)")
    assert sides == ["left", "right"], sides
    expect(page.locator("#log pre .keyword")).to_have_text(["let"])
    prompt(page, "write it again")
    expect(page.locator("#log .card")).to_contain_text("No change")


def a_hidden_tab_notifies_of_a_question_once(page, link, _):
    # A headless browser shows every tab: whether this one is hidden is said here. The permission is the browser's own.
    page.add_init_script("""
        const asked = window.Notification;
        window.told = [];
        window.away = false;
        Object.defineProperty(Document.prototype, "hidden", { get: () => window.away });
        window.Notification = class extends asked {
            constructor(title, options) { super(title, options); document.documentElement.dataset.told = window.told.push([title, options.body]); }
        };
    """)
    page.context.grant_permissions(["notifications"], origin=re.match(r"https?://[^/]+", link)[0])
    sign_in(page, link)
    page.click("#notify")
    expect(page.locator("#notify")).to_have_attribute("aria-pressed", "true")
    prompt(page, "first")
    expect(page.locator("#log .card")).to_be_visible()
    assert page.evaluate("told") == [], "who looks at the page is not told"
    answer(page, "yes")
    expect(page.locator("#log .message.model").last).to_contain_text("Written.")
    page.evaluate("away = true")
    prompt(page, "second")
    expect(page).to_have_title(re.compile(r"^\(1\) "))
    expect(page.locator("html")).to_have_attribute("data-told", "1")
    answer(page, "yes")
    expect(page.locator("#log .message.model").last).to_contain_text("Again.")
    told = page.evaluate("told")
    assert len(told) == 1 and told[0][0] == "Charla asks" and "b.txt" in told[0][1], told


def it_fits_a_phone(page, link, _):
    page.set_viewport_size({"width": 390, "height": 844})
    sign_in(page, link)
    prompt(page, "go")
    expect(page.locator("#log .card")).to_be_visible()
    # Turned, or with its keyboard out, the end stays in sight.
    for width, height in ((844, 390), (390, 500), (390, 844)):
        page.set_viewport_size({"width": width, "height": height})
        expect(page.locator("#log .card [data-answer=yes]")).to_be_in_viewport()
    wide = page.evaluate("document.documentElement.scrollWidth > innerWidth")
    assert not wide, "the page is wider than the screen"
    expect(page.locator("#side")).to_be_hidden()
    page.click("#menu")
    expect(page.locator("#sessions a").first).to_be_visible()
    page.locator("#sessions a").first.click()
    expect(page.locator("#side")).to_be_hidden()
    answer(page, "yes")
    expect(page.locator("#log .message.model").last).to_contain_text("Written.")


NAMED = """(work) => {
    const texts = document.createTreeWalker(document.body, NodeFilter.SHOW_TEXT);
    while (texts.nextNode()) texts.currentNode.data = texts.currentNode.data.replaceAll(work, "/home/anna/app");
}"""


def pictures(page, link, folder):
    """What the page looks like, light, dark and on a phone; the folder has a name that says more than that of a test."""
    page.set_viewport_size({"width": 1280, "height": 940})
    sign_in(page, link)
    own = page.locator("#folder").input_value() + "/app"

    def begin():
        page.fill("#folder", own)
        page.locator("#folder").blur()

    begin()
    prompt(page, "Which of the settings are read at the start?")
    expect(page.locator("#log .message.model").last).to_contain_text("app.toml")
    page.click("#new")
    begin()
    prompt(page, "Change the port to 8080")
    answer(page, "yes")
    expect(page.locator("#log .message.model").last).to_contain_text("8080")
    expect(page.locator("#log .changes .plus").first).to_be_visible()
    prompt(page, "Does it still start?")
    expect(page.locator("#log .card")).to_be_visible()
    expect(page.locator("#figures")).to_contain_text("tokens")
    expect(page.locator("#inbox-count")).to_have_text("1")
    for name, scheme, size in (("light", "light", (1280, 940)), ("dark", "dark", (1280, 940)), ("phone", "light", (390, 844))):
        page.emulate_media(color_scheme=scheme, reduced_motion="reduce")
        page.set_viewport_size({"width": size[0], "height": size[1]})
        page.evaluate(NAMED, own)
        # However the window changes, the question is in sight.
        expect(page.locator("#log .card [data-answer=yes]")).to_be_in_viewport()
        page.screenshot(path=os.path.join(folder, f"{name}.png"))
    page.locator("#log .changes summary").first.click()
    page.locator("#log .changes").first.scroll_into_view_if_needed()
    page.screenshot(path=os.path.join(folder, "phone-changes.png"))
    page.set_viewport_size({"width": 1280, "height": 940})
    page.click("#more summary")
    page.click("#show-figures")
    expect(page.locator("#dialog svg.chart")).to_be_visible()
    page.screenshot(path=os.path.join(folder, "figures.png"))


def main(scenario, link, folder):
    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=os.environ.get("CHARLA_TEST_BROWSER", "/usr/bin/chromium"), args=["--no-sandbox"])
        page = browser.new_context().new_page()
        page.set_default_timeout(PATIENCE)
        errors = []
        page.on("pageerror", lambda error: errors.append(str(error)))
        try:
            globals()[scenario](page, link, folder)
        except BaseException:
            page.screenshot(path=os.path.join(folder, "failed.png"))
            print(page.inner_text("body"), file=sys.stderr)
            raise
        finally:
            browser.close()
        assert not errors, errors


main(*sys.argv[1:])
