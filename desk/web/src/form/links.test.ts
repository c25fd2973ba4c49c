import { expect, test } from "vitest";
import { randomSource } from "../blocks/random.ts";
import { addLink, bodyOfEdit, type Link, linksAfter, moveLink, noEdit, removeLink } from "./links.ts";

const link = (documentId: string): Link => ({ documentId, label: documentId });
const links = (ids: string) => [...ids].map(link);
const shown = (list: Link[]) => list.map((l) => l.documentId).join("");

// stored returns the links after the API took a body: it disconnects, then connects one after another.
function stored(before: Link[], body: ReturnType<typeof bodyOfEdit>): string {
  const gone = new Set(body.disconnect?.map((l) => l.documentId));
  let list = before.map((l) => l.documentId).filter((id) => !gone.has(id));
  for (const { documentId, position } of body.connect ?? []) {
    list = list.filter((id) => id !== documentId);
    if ("start" in position) list.unshift(documentId);
    else if ("end" in position) list.push(documentId);
    else list.splice(list.indexOf(position.after) + 1, 0, documentId);
  }
  return list.join("");
}

test("what is shown after random edits is what the API stores", () => {
  for (let seed = 1; seed <= 500; seed++) {
    const random = randomSource(seed);
    const all = links("abcdefgh");
    let edit = noEdit;
    for (let i = 0; i < 12; i++) {
      const list = linksAfter(all, edit);
      const any = list[random(list.length)];
      const n = random(3);
      if (n === 0 || !any) edit = addLink(all, edit, link("xyzab"[random(5)]!));
      else if (n === 1) edit = removeLink(all, edit, any);
      else edit = moveLink(all, edit, any, random(list.length));
      expect(stored(all, bodyOfEdit(edit)), `seed ${seed}`).toBe(shown(linksAfter(all, edit)));
    }
  }
});

test("with one page read, links keep their places among all", () => {
  const all = links("abcdefgh");
  const page = all.slice(0, 3);
  let edit = moveLink(page, noEdit, link("c"), 0);
  expect(bodyOfEdit(edit)).toEqual({ connect: [{ documentId: "c", position: { start: true } }] });
  edit = addLink(page, edit, link("x"));
  expect(shown(linksAfter(page, edit))).toBe("cabx");
  expect(stored(all, bodyOfEdit(edit))).toBe("cabdefghx");
  edit = moveLink(page, edit, link("x"), 1);
  expect(stored(all, bodyOfEdit(edit))).toBe("cxabdefgh");
  edit = removeLink(page, edit, link("c"));
  expect(stored(all, bodyOfEdit(edit))).toBe("xabdefgh");
});

test("removing what was added only takes back the addition", () => {
  const edit = addLink([], noEdit, link("x"));
  expect(shown(linksAfter(links("ab"), edit))).toBe("abx");
  expect(stored(links("ab"), bodyOfEdit(removeLink(links("ab"), edit, link("x"))))).toBe("ab");
});
