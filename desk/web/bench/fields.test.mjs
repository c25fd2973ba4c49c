import assert from "node:assert/strict";
import { test } from "node:test";
import { api, open, save } from "./bench.mjs";

const page = "api::page.page";

test("every type of value is written and read again", () =>
  open(page, null, async (p) => {
    await p.getByLabel("Title").fill("Déjà vu");
    await p.getByRole("button", { name: "Make from Title" }).click();
    await p.getByText("This is free.").waitFor();
    await p.getByLabel("Intro").fill("two\nlines");
    await p.getByLabel("Contact").fill("ada@example.org");
    await p.getByLabel("Secret").fill("123456");
    await p.getByLabel("Seats").fill("30");
    await p.getByLabel("Visits").fill("9007199254740993");
    await p.getByLabel("Price").fill("12345678901234567891");
    await p.getByLabel("Rating").fill("4.5");
    await p.getByRole("group", { name: "Free" }).getByLabel("No", { exact: true }).check();
    await p.getByRole("group", { name: "Vegan" }).getByLabel("Yes", { exact: true }).check();
    await p.getByLabel("Opened on").fill("2024-02-29");
    await p.getByLabel("Opens at").fill("08:30:00");
    await p.getByLabel("Next event").fill("2030-05-01T20:00:00");
    await p.getByLabel("Tier").selectOption("gold");
    await p.getByLabel("Colour").fill("#ff0000");
    await p.getByRole("textbox", { name: "Body" }).fill("# Hi\n\nthere");
    await p.getByRole("textbox", { name: "Facts" }).fill('{"floors": [1, 2.50, 12345678901234567890]}');
    const saved = await save(p);
    const { title, slug, intro, contact, seats, visits, rating, free, vegan, openedOn, opensAt, tier, colour, body } =
      saved;
    assert.deepEqual(
      { title, slug, intro, contact, seats, visits, rating, free, vegan, openedOn, opensAt, tier, colour, body },
      {
        title: "Déjà vu",
        slug: "deja-vu",
        intro: "two\nlines",
        contact: "ada@example.org",
        seats: 30,
        visits: "9007199254740993",
        rating: 4.5,
        free: false,
        vegan: true,
        openedOn: "2024-02-29",
        opensAt: "08:30:00.000",
        tier: "gold",
        colour: "#ff0000",
        body: "# Hi\n\nthere",
      },
    );
    const local = await p.evaluate(() => new Date("2030-05-01T20:00:00").toISOString());
    assert.equal(saved.nextEvent, local);
    // All digits are kept, and shown again.
    assert.equal(await p.getByLabel("Price").inputValue(), "12345678901234567891");
    assert.match(await p.getByRole("textbox", { name: "Facts" }).textContent(), /12345678901234567890/);
    await p.getByLabel("Title").fill("Again");
    await save(p);
    assert.deepEqual(await p.evaluate(() => window.sent), { title: "Again" });
  }));

test("a value is taken away again", async () => {
  const { documentId } = await api("POST", "pages?status=draft", {
    title: "x",
    seats: 3,
    free: true,
    tier: "gold",
    openedOn: "2024-01-01",
    facts: [1],
  });
  await open(page, documentId, async (p) => {
    await p.getByLabel("Seats").fill("");
    await p.getByRole("group", { name: "Free" }).getByLabel("Not set").check();
    await p.getByLabel("Tier").selectOption("");
    await p.getByLabel("Opened on").fill("");
    await p.getByRole("textbox", { name: "Facts" }).fill("");
    const { seats, free, tier, openedOn, facts } = await save(p);
    assert.deepEqual(
      { seats, free, tier, openedOn, facts },
      { seats: null, free: null, tier: null, openedOn: null, facts: null },
    );
  });
});

test("errors are shown at their field", () =>
  open(page, null, async (p) => {
    await p.getByLabel("Title").fill("x".repeat(61));
    await p.getByLabel("Seats").fill("501");
    await p.getByRole("button", { name: "Save", exact: true }).click();
    await p.locator("output", { hasText: "refused" }).waitFor();
    const described = async (label) => {
      const ids = await p.getByLabel(label).getAttribute("aria-describedby");
      return (
        await p
          .locator(
            ids
              .split(" ")
              .map((id) => `[id="${id}"]`)
              .join(","),
          )
          .allTextContents()
      ).join(" ");
    };
    assert.match(await described("Title"), /must be at most 60 characters/);
    assert.match(await described("Seats"), /must be less than or equal to 500/);
    assert.equal(await p.getByLabel("Seats").getAttribute("aria-invalid"), "true");
    await p.getByLabel("Seats").fill("many");
    assert.match(await described("Seats"), /This is no whole number/);
  }));

test("JSON that is none is marked at its place, and kept", () =>
  open(
    page,
    null,
    async (p) => {
      const facts = p.getByRole("textbox", { name: "Facts" });
      await facts.fill('{"a": [1, }');
      await p.getByText("This is no JSON").waitFor();
      await p.locator(".cm-lintRange-error").waitFor();
      assert.equal(await facts.textContent(), '{"a": [1, }');
      await facts.fill('{"a": [1]}');
      await p.getByText("This is no JSON").waitFor({ state: "detached" });
    },
    { expected: /inline style/ },
  )); // Chromium gives typed text the style of what it replaces

test("the preview of Markdown runs nothing", () =>
  open(
    page,
    null,
    async (p) => {
      await p
        .getByRole("textbox", { name: "Body" })
        .fill(
          '# Head\n\n<img src=x onerror="window.ran=1"><script>window.ran=1</script>\n\n' +
            '[a](javascript:window.ran=1)\n\n<p style="position:fixed">low</p>',
        );
      await p.getByRole("group", { name: "Body" }).getByRole("button", { name: "Preview" }).click();
      const preview = p.getByRole("region", { name: "Preview" });
      await preview.getByRole("heading", { name: "Head" }).waitFor();
      const html = await preview.innerHTML();
      assert.doesNotMatch(html, /onerror|<script|javascript:|style=/);
      assert.equal(await p.evaluate(() => window.ran), undefined);
    },
    { expected: /Content Security Policy|404/ },
  ));

test("a uid that another document has is told", async () => {
  await api("POST", "pages?status=draft", { title: "Mill", slug: "mill" });
  await open(page, null, async (p) => {
    await p.getByLabel("Title").fill("Mill");
    await p.getByLabel("Slug").fill("mill");
    await p.getByText("Another document has this already.").waitFor();
    await p.getByRole("button", { name: "Make from Title" }).click();
    await p.getByText("This is free.").waitFor();
    assert.equal(await p.getByLabel("Slug").inputValue(), "mill-1");
  });
});

test("what is wrong within a text of blocks is shown at its field", () =>
  open(page, null, async (p) => {
    await p.getByLabel("Title").fill("x");
    await p.getByRole("textbox", { name: "Text", exact: true }).click();
    await p.keyboard.type("word");
    // A server may refuse what the editor gives.
    const errors = [
      { path: ["text", "0", "children", "0", "url"], message: "Please specify a valid link.", name: "ValidationError" },
    ];
    await p.route("**/api/pages?**", (route) =>
      route.fulfill({ status: 400, json: { data: null, error: { status: 400, message: "no", details: { errors } } } }),
    );
    await p.getByRole("button", { name: "Save", exact: true }).click();
    await p.getByRole("group", { name: "Text", exact: true }).getByText("Please specify a valid link.").waitFor();
  }));

test("an editor that cannot be loaded can be tried again, and the form goes on", async () => {
  await open(
    page,
    null,
    async (p) => {
      await p.route("**/code-*.js", (route) => route.abort());
      await p.reload();
      await p.getByLabel("Title").fill("typed");
      const facts = p.getByRole("group", { name: "Facts" });
      await facts.getByRole("alert").waitFor();
      await p.unroute("**/code-*.js");
      await facts.getByRole("button", { name: "Try again" }).click();
      await p.getByRole("textbox", { name: "Facts" }).fill("[1]");
      assert.deepEqual((await save(p)).facts, [1]);
    },
    { expected: /ERR_FAILED/ },
  );
});
