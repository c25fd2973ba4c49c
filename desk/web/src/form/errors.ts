// What a refused save has to say, and where.
import { Failure } from "../api/client.ts";

// errorsAt returns what a refused save has to say, by the path of its field, as in "sections.0.title". What belongs to no
// field is under "".
export function errorsAt(error: unknown): Map<string, string[]> {
  const at = new Map<string, string[]>();
  const issues = error instanceof Failure ? error.issues : [];
  for (const { path, message } of issues) at.set(path.join("."), [...(at.get(path.join(".")) ?? []), message]);
  if (at.size === 0) at.set("", [error instanceof Error ? error.message : String(error)]);
  return at;
}
