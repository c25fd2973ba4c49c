import { expect, test } from "vitest";
import { differences, edited, groupsOf, isChanged, none, switched, treeOf } from "./grants.ts";

const role = { name: "Writer", description: null, permissions: ["api::a.a.find", "lectern::desk.use"] };

test("permissions are grouped, content first", () => {
  const groups = groupsOf(["lectern::desk.use", "plugin::u.user.me", "api::b.b.find", "api::a.a.find", "api::b.b.create", "api::b.b.find"]);
  expect(groups).toEqual([
    { uid: "api::a.a", actions: ["find"] }, { uid: "api::b.b", actions: ["find", "create"] },
    { uid: "plugin::u.user", actions: ["me"] }, { uid: "lectern::desk", actions: ["use"] },
  ]);
});

test("the tree cuts a uid at its last dot, if there is one", () => {
  expect(treeOf(["api::a.b.c.find", "api::a.b.c.create", "lectern::desk.use"])).toEqual({
    "api::a.b": { controllers: { c: { find: { enabled: true }, create: { enabled: true } } } },
    "lectern::desk": { controllers: { "": { use: { enabled: true } } } },
  });
});

test("edits stay what they are when the role changes below them", () => {
  let edits = switched(role, none, "api::b.b.find", true);
  edits = switched(role, edits, "api::a.a.find", false);
  const others = { ...role, name: "Author", permissions: [...role.permissions, "api::c.c.find"] };
  const after = edited(others, edits);
  expect(after.name).toBe("Author");
  expect([...after.permissions].sort()).toEqual(["api::b.b.find", "api::c.c.find", "lectern::desk.use"]);
});

test("what is switched back is no edit, nor what another has done too", () => {
  const once = switched(role, none, "api::a.a.find", false);
  expect(isChanged(role, once)).toBe(true);
  expect(isChanged(role, switched(role, once, "api::a.a.find", true))).toBe(false);
  expect(isChanged({ ...role, permissions: ["lectern::desk.use"] }, once)).toBe(false);
  expect(isChanged(role, { ...none, description: "" })).toBe(false);
});

test("differences say what came and went", () => {
  expect(differences(["a.x", "b.x"], ["b.x", "c.x"])).toEqual(["+ c.x", "− a.x"]);
});
