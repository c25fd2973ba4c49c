// What a list can be filtered by: attributes, and those behind relations and in components, step by step.
import { type Access, type Attribute, type ContentType } from "../../api/access.ts";
import { columnsOf } from "./columns.ts";

// A Step is what can be chosen at one place of a path. An attribute without a definition is one that all documents have.
export type Step = Map<string, Attribute | undefined>;

const unfiltered = new Set(["media", "dynamiczone", "json", "blocks", "password"]);

// leadsOn reports whether a path does not end at an attribute.
const leadsOn = (a: Attribute | undefined) => a?.type === "relation" || a?.type === "component";

// stepsOf returns the choices at each place of a path, and the path itself, which it leads on to an attribute with a value.
export function stepsOf(access: Access, type: ContentType, path: string[]): { steps: Step[]; path: string[] } {
  const steps: Step[] = [];
  const whole: string[] = [];
  let step = ofType(access, type);
  while (step.size > 0) {
    steps.push(step);
    const asked = path[whole.length] ?? "";
    const name = step.has(asked) ? asked : (first(step) ?? "");
    whole.push(name);
    const attribute = step.get(name);
    if (!leadsOn(attribute)) break;
    step = within(access, attribute!);
  }
  return { steps, path: whole };
}

// first prefers an attribute that does not lead on, so that a path ends where its reader did not ask for more.
const first = (step: Step) => [...step].find(([, a]) => !leadsOn(a))?.[0];

function ofType(access: Access, type: ContentType): Step {
  const step = ofAttributes(access, type.schema.attributes);
  for (const name of [...columnsOf(type).filter((name) => name.endsWith("At")), "documentId"]) if (!step.has(name)) step.set(name, undefined);
  return step;
}

function ofAttributes(access: Access, attributes: Record<string, Attribute>): Step {
  const usable = ([, a]: [string, Attribute]) => a.readable && !unfiltered.has(a.type) && (!leadsOn(a) || hasMore(access, a));
  return new Map(Object.entries(attributes).filter(usable));
}

// hasMore reports whether there is something to filter by right behind an attribute.
function hasMore(access: Access, a: Attribute): boolean {
  if (a.type === "relation") return access.contentTypes.some((one) => one.uid === a.target && "find" in one.actions);
  const inner = access.components.find((one) => one.uid === a.component)?.schema.attributes ?? {};
  return Object.values(inner).some((b) => b.readable && !unfiltered.has(b.type) && !leadsOn(b));
}

function within(access: Access, a: Attribute): Step {
  if (a.type === "component") return ofAttributes(access, access.components.find((one) => one.uid === a.component)?.schema.attributes ?? {});
  const target = access.contentTypes.find((one) => one.uid === a.target);
  return target ? ofType(access, target) : new Map();
}
