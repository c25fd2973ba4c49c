import { expect, test } from "vitest";
import { idsFrom, keysFrom, keysFromSent } from "./saved.ts";
import { itemKey } from "./value.ts";

const readable = true;
const components = { part: { text: { type: "string", readable }, inner: { type: "component", component: "leaf", readable } }, leaf: { text: { type: "string", readable } } };
const attributes = {
  title: { type: "string", readable },
  zone: { type: "dynamiczone", components: ["part"], readable },
  one: { type: "component", component: "leaf", readable },
};
const sent = { title: "a", zone: [{ __component: "part", [itemKey]: "k", text: "a", inner: { text: "x" } }], one: { text: "a" } };
const answer = { title: "a", zone: [{ id: 5, __component: "part", text: "a", inner: { id: 7, text: "x" } }], one: { id: 9, text: "a" } };

test("the answer to a save has the keys of what was sent, in its order", () => {
  expect(keysFromSent(sent, attributes, components, answer).zone).toEqual([{ ...answer.zone[0], [itemKey]: "k" }]);
});

test("what was typed since has the ids of the answer", () => {
  const typed = { ...sent, zone: [{ __component: "part", [itemKey]: "later" }, { ...sent.zone[0], text: "ab" }], one: { text: "ab" } };
  expect(idsFrom(keysFromSent(sent, attributes, components, answer), attributes, components, typed)).toEqual({
    title: "a",
    zone: [typed.zone[0], { id: 5, __component: "part", [itemKey]: "k", text: "ab", inner: { id: 7, text: "x" } }],
    one: { id: 9, text: "ab" },
  });
});

test("a later version has the keys by its ids", () => {
  const known = keysFromSent(sent, attributes, components, answer);
  const later = { ...answer, zone: [{ id: 4, __component: "part", text: "new" }, ...answer.zone] };
  expect(keysFrom(known, attributes, components, later).zone).toEqual([later.zone[0], { ...answer.zone[0], [itemKey]: "k" }]);
});
