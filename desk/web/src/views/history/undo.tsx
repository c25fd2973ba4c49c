// Undo takes back, by the history, what was just done to many documents of a list.
import { useState } from "react";
import { Button } from "react-aria-components";
import type { ContentType } from "../../api/access.ts";
import { t } from "../../text/text.ts";
import { messageOf } from "../../ui/states.tsx";
import { bringBack, deletedOf, publishAgain } from "./bringback.ts";

// Done is what was done: to documents that were deleted, or taken off the site.
export interface Done {
  verb: "delete" | "unpublish";
  ids: string[];
  locale: string;
}

// mayUndo reports whether a reader may take something back.
export function mayUndo({ actions }: ContentType, verb: string): verb is Done["verb"] {
  if (!("history" in actions && "restore" in actions)) return false;
  return verb === "delete" || (verb === "unpublish" && "publish" in actions);
}

async function undo(type: ContentType, { verb, ids, locale }: Done): Promise<void> {
  if (verb === "unpublish") {
    for (const id of ids) await publishAgain(type, id, locale || null);
    return;
  }
  const items = await deletedOf(type, ids);
  // A link to a document that is not back yet is left out, so documents that lead to others of them come back once more.
  const linked = items.length > 1 && Object.values(type.schema.attributes).some((a) => a.type === "relation" && (a.target ?? type.uid) === type.uid);
  for (let round = linked ? 2 : 1; round > 0; round--) {
    for (const item of items) await bringBack(type, item, "publish" in type.actions);
  }
}

interface UndoProps {
  type: ContentType;
  done: Done;
  onUndone: () => void;
}

export function Undo({ type, done, onUndone }: UndoProps) {
  const [state, setState] = useState<"done" | "busy" | "undone">("done");
  const [problem, setProblem] = useState<unknown>(null);
  const run = async () => {
    setState("busy");
    setProblem(null);
    try {
      await undo(type, done);
      setState("undone");
    } catch (err) {
      setProblem(err);
      setState("done");
    }
    onUndone();
  };
  return (
    <div className="notice row" role="status">
      {state === "undone" ? t("gone.undone") : t(done.verb === "delete" ? "gone.didDelete" : "gone.didUnpublish", { n: done.ids.length })}
      {state !== "undone" && <Button className="button" isDisabled={state === "busy"} onPress={() => void run()}>{t("gone.undo")}</Button>}
      {problem !== null && <span className="problem" role="alert">{t("gone.notUndone", { message: messageOf(problem) })}</span>}
    </div>
  );
}
