// The boxes of the types and components that the reader may see.
import type { Access, Attribute } from "../../api/access.ts";
import type { Box, Row } from "./layout.ts";

const signs: Record<string, string> = {
  oneToOne: "1:1", oneToMany: "1:n", manyToOne: "n:1", manyToMany: "n:m", oneWay: "→ 1", manyWay: "→ n",
  morphToOne: "→ 1", morphToMany: "→ n", morphOne: "1:1", morphMany: "1:n",
};

// kindOf returns the type of an attribute in a word.
export const kindOf = (attribute: Attribute): string =>
  attribute.type === "relation" ? (signs[attribute.relation ?? ""] ?? "relation") : attribute.type + (attribute.repeatable || attribute.multiple ? "[]" : "");

// targetsOf returns the uids to which an attribute leads.
export function targetsOf(attribute: Attribute): string[] {
  if (attribute.type === "relation") return attribute.target ? [attribute.target] : [];
  if (attribute.component) return [attribute.component];
  return attribute.components ?? [];
}

// boxesOf returns a box for each type of the project, and each other type and component to which one leads. A relation
// that two types show is one line, from the type that has it.
export function boxesOf(access: Access): Box[] {
  const schemas = [...access.contentTypes, ...access.components];
  const byUID = new Map(schemas.map((one) => [one.uid, one.schema]));
  const wanted = new Set(access.contentTypes.filter((type) => type.uid.startsWith("api::")).map((type) => type.uid));
  for (const uid of wanted) { // a set may grow while it is walked through
    for (const attribute of Object.values(byUID.get(uid)?.attributes ?? {})) {
      for (const target of targetsOf(attribute)) if (byUID.has(target) && (uid.startsWith("api::") || !uid.includes("::"))) wanted.add(target);
    }
  }
  const drawn = new Set<string>();
  const rowOf = (uid: string, name: string, attribute: Attribute): Row => {
    const relation = attribute.type === "relation";
    const targets = targetsOf(attribute).filter((target) => {
      if (!relation || !attribute.targetAttribute) return true;
      if (drawn.has(`${target} ${attribute.targetAttribute}`)) return false;
      drawn.add(`${uid} ${name}`);
      return true;
    });
    return { name, kind: kindOf(attribute), to: targets.map((box) => ({ box, dashed: !relation })) };
  };
  return schemas.filter(({ uid }) => wanted.has(uid)).map(({ uid, schema }) => ({
    id: uid,
    title: schema.displayName,
    rows: Object.entries(schema.attributes).map(([name, attribute]) => rowOf(uid, name, attribute)),
  }));
}
