// The museum of examples/museum, filled and moderated in the desk from an empty project: the walk of docs/desk.md. With
// PICTURES, a directory, it leaves the pictures of that page there.
import assert from "node:assert/strict";
import { cpSync } from "node:fs";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { checkAccessible, open, start } from "./desk.mjs";

let desk;
before(async () => {
  desk = await start({
    make: (project) => {
      for (const part of ["config", "content-types"]) {
        cpSync(new URL(`../../../examples/museum/${part}`, import.meta.url), join(project, part), { recursive: true });
      }
    },
    users: { eva: "editor", otto: "author", mina: "moderator" },
  });
});
after(() => desk?.stop());

const field = (page, label) => page.getByLabel(label).first();
const click = (page, name) => page.getByRole("button", { name, exact: true }).click();
const saved = (page) => page.getByText("Saved", { exact: true }).waitFor();

async function make(page, type, values) {
  await page.getByRole("navigation").getByRole("link", { name: type }).click();
  await page.getByText(`New ${type}`).click();
  await page.getByRole("heading", { name: `New: ${type}` }).waitFor();
  for (const [label, value] of Object.entries(values)) await field(page, label).fill(value);
}

async function save(page) {
  await click(page, "Save");
  await page.waitForURL(/\/(?!new)[a-z0-9]+(\?|$)/);
  await saved(page);
}

async function asVisitor(path, body) {
  const answer = await fetch(`${desk.base}/api/${path}`, body && {
    method: "POST",
    headers: { "Content-Type": "application/json" },
    body: JSON.stringify({ data: body }),
  });
  return (await answer.json()).data;
}

async function picture(page, name) {
  if (process.env.PICTURES) await page.screenshot({ path: join(process.env.PICTURES, `${name}.png`) });
}

test("from an empty project to a moderated museum", async () => {
  const eva = await open(desk, "", "eva");
  await eva.getByRole("heading", { name: "Welcome, eva" }).waitFor();
  await make(eva, "Room", { Name: "Hall of bells", Floor: "1" });
  await save(eva);

  const otto = await open(desk, "", "otto");
  await make(otto, "Exhibit", { Title: "Bronze bell" });
  await field(otto, "Text").click();
  await otto.keyboard.type("Cast in **1521** for the tower.");
  await otto.getByPlaceholder("Link to Room").fill("Hall");
  await otto.getByRole("option", { name: "Hall of bells" }).click();
  await picture(otto, "form");
  await save(otto);
  assert.deepEqual(await asVisitor("exhibits"), []);
  assert.equal(await otto.getByRole("button", { name: "Publish", exact: true }).count(), 0);

  await eva.getByRole("navigation").getByRole("link", { name: "Exhibit" }).click();
  await eva.getByRole("link", { name: "Bronze bell" }).click();
  await field(eva, "Title").fill("The bronze bell");
  await click(eva, "Publish");
  await saved(eva);
  const [exhibit] = await asVisitor("exhibits?populate=room");
  assert.equal(exhibit.title, "The bronze bell");
  assert.equal(exhibit.text, "Cast in **1521** for the tower.");
  assert.equal(exhibit.room.name, "Hall of bells");

  for (const [name, text] of [["Noor", "How loud is it?"], ["Bells4U", "Buy cheap bells!"]]) {
    await asVisitor("comments", { name, text, email: "visitor@example.org", exhibit: exhibit.documentId });
  }
  assert.deepEqual(await asVisitor("comments"), []);

  const mina = await open(desk, "content/comment", "mina");
  const judge = async (name, state) => {
    await mina.getByRole("link", { name }).click();
    await field(mina, "State").selectOption(state);
    assert.equal(await field(mina, "Text").isEditable(), false);
    await click(mina, "Save");
    await saved(mina);
  };
  await mina.getByRole("link", { name: "Noor" }).waitFor();
  await picture(mina, "list");
  await checkAccessible(mina, "moderation");
  await judge("Noor", "approved");
  await mina.goBack();
  await judge("Bells4U", "refused");
  await click(mina, "Delete");
  await mina.getByRole("alertdialog").getByRole("button", { name: "Delete", exact: true }).click();
  await mina.getByText("1 document", { exact: true }).waitFor();
  const comments = await asVisitor("comments");
  assert.deepEqual(comments.map(({ name, text }) => [name, text]), [["Noor", "How loud is it?"]]);
  assert.ok(!JSON.stringify(comments).includes("visitor@"), "visitors read the addresses of others");
});
