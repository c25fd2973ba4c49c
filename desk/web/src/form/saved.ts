// What a save makes of items of components and zones: the server gives new ones an id, and the form still knows them by
// their key. Both are put together here, so that an item stays the same one while somebody types into it.
import { type Attributes, attributesOf, type Components, isValues, type Item, itemKey, type Values } from "./value.ts";

// A Match finds the item that another one is in an earlier or later version.
type Match = (from: Item[], item: Item, index: number) => Item | undefined;

const byPlace: Match = (from, _, index) => from[index];
const byId: Match = (from, item) => from.find((one) => one.id !== undefined && one.id === item.id);
const byKey: Match = (from, item) => (item[itemKey] === undefined ? undefined : from.find((one) => one[itemKey] === item[itemKey]));

// keysFrom returns a version of the server with the keys that a form knows its items by.
export function keysFrom(known: Values, attributes: Attributes, components: Components, values: Values): Values {
  return moved(known, values, attributes, components, byId, itemKey);
}

// keysFromSent returns the answer to a save with the keys of what was sent: the items are in the same order.
export function keysFromSent(sent: Values, attributes: Attributes, components: Components, answer: Values): Values {
  return moved(sent, answer, attributes, components, byPlace, itemKey);
}

// idsFrom returns what a form holds with the ids that its new items have got by a save.
export function idsFrom(answer: Values, attributes: Attributes, components: Components, values: Values): Values {
  return moved(answer, values, attributes, components, byKey, "id");
}

function moved(from: Values, to: Values, attributes: Attributes, components: Components, match: Match, part: "id" | typeof itemKey): Values {
  const out = { ...to };
  for (const [name, a] of Object.entries(attributes)) {
    if (a.type !== "component" && a.type !== "dynamiczone") continue;
    const [before, value] = [from[name], out[name]];
    const one = (source: Item, item: Item): Item => {
      const within = moved(source, item, attributesOf(item, a, components), components, match, part) as Item;
      return item[part] === undefined && source[part] !== undefined ? { ...within, [part]: source[part] } : within;
    };
    if (Array.isArray(value) && Array.isArray(before)) {
      out[name] = value.map((item: Item, index) => {
        const source = match(before as Item[], item, index);
        return source && source.__component === item.__component ? one(source, item) : item;
      });
    } else if (isValues(value) && isValues(before)) out[name] = one(before as Item, value as Item);
  }
  return out;
}
