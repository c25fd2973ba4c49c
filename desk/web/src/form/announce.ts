// What a screen reader says while somebody moves items with the keys.
import type { Announcements, UniqueIdentifier } from "@dnd-kit/core";
import { t } from "../text/text.ts";

export function instructions(): string {
  return t("move.instructions");
}

export function announcements(
  label: (key: string) => string,
  count: number,
  placeOf: (key: string) => number,
): Announcements {
  const say = (key: "move.begun" | "move.over" | "move.ended", id: UniqueIdentifier, at: UniqueIdentifier) =>
    t(key, { name: label(String(id)), n: placeOf(String(at)), count });
  return {
    onDragStart: ({ active }) => say("move.begun", active.id, active.id),
    onDragOver: ({ active, over }) => (over ? say("move.over", active.id, over.id) : undefined),
    onDragEnd: ({ active, over }) => say("move.ended", active.id, over?.id ?? active.id),
    onDragCancel: ({ active }) => t("move.cancelled", { name: label(String(active.id)) }),
  };
}
