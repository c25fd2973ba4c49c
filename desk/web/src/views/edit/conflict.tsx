// What two people changed at once, attribute by attribute: mine, theirs, or either for each.
import { useState } from "react";
import { Button, Dialog, Heading, Modal, ModalOverlay } from "react-aria-components";
import { labelOf } from "../../form/field.ts";
import { fates, type Values as Merged } from "../../keep/merge.ts";
import { language, t } from "../../text/text.ts";
import type { Conflict } from "./work.ts";

type Side = "mine" | "theirs";

interface ConflictViewProps {
  conflict: Conflict;
  onSettle: (choice: ReadonlyMap<string, Side>) => void;
}

export function ConflictView({ conflict, onSettle }: ConflictViewProps) {
  const { base, mine, theirs } = conflict;
  const both = [...fates(base as Merged, mine as Merged, theirs.values as Merged)].filter(([, fate]) => fate === "conflict").map(([name]) => name);
  const shown = both.filter((name) => !systemNames.has(name));
  const [choice, setChoice] = useState<ReadonlyMap<string, Side>>(new Map());
  const choose = (names: string[], side: Side) => setChoice(new Map([...choice, ...names.map((name): [string, Side] => [name, side])]));
  // What nobody types, such as updatedAt, is as the server has it.
  const whole = new Map<string, Side>([...both.filter((name) => systemNames.has(name)).map((name): [string, Side] => [name, "theirs"]), ...choice]);
  const savedAt = new Date(String(theirs.values.updatedAt ?? ""));
  return (
    <ModalOverlay className="overlay" isOpen isKeyboardDismissDisabled>
      <Modal className="modal wide">
        <Dialog>
          <Heading slot="title">{t("edit.conflictTitle")}</Heading>
          <p>{t("edit.conflictLead")}</p>
          {!Number.isNaN(savedAt.getTime()) && <p className="quiet">{t("edit.conflictBy", { time: savedAt.toLocaleString(language) })}</p>}
          <div className="row">
            <Button className="button" onPress={() => choose(shown, "mine")}>{t("edit.allMine")}</Button>
            <Button className="button" onPress={() => choose(shown, "theirs")}>{t("edit.allTheirs")}</Button>
          </div>
          {shown.map((name) => (
            <fieldset key={name} className="conflict">
              <legend>{labelOf(name)}</legend>
              {(["mine", "theirs"] as const).map((side) => (
                <label key={side} className={choice.get(name) === side ? "side-choice chosen" : "side-choice"}>
                  <input type="radio" name={name} checked={choice.get(name) === side} onChange={() => choose([name], side)} />
                  <strong>{t(`edit.${side}`)}</strong>
                  <Shown value={(side === "mine" ? mine : theirs.values)[name]} />
                </label>
              ))}
            </fieldset>
          ))}
          <div className="row end">
            <Button className="button primary" isDisabled={!shown.every((name) => choice.has(name))} onPress={() => onSettle(whole)}>
              {t("edit.takeChoice")}
            </Button>
          </div>
        </Dialog>
      </Modal>
    </ModalOverlay>
  );
}

const systemNames = new Set(["id", "documentId", "createdAt", "updatedAt", "publishedAt", "locale"]);

// Shown is a value as somebody who compares two can read it.
function Shown({ value }: { value: unknown }) {
  if (value === null || value === undefined || value === "") return <em>{t("edit.empty")}</em>;
  const text = typeof value === "string" ? value : JSON.stringify(value, null, 2);
  return <pre>{text}</pre>;
}
