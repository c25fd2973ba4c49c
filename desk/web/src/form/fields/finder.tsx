// A box in which one searches documents of a type, picks one, or makes one.
import { useEffect, useId, useState } from "react";
import { Button } from "react-aria-components";
import { type ContentType, isSingle } from "../../api/access.ts";
import { t } from "../../text/text.ts";
import { useForm } from "../field.ts";
import type { Link } from "../links.ts";
import { labelAttribute } from "../query.ts";
import { linkOf } from "../server.ts";
import { CreateDialog } from "./create.tsx";

interface FinderProps {
  type: ContentType;
  label: string;
  describedBy: string | undefined;
  onPick: (link: Link) => void;
}

export function Finder({ type, label, describedBy, onPick }: FinderProps) {
  const [makes, setMakes] = useState(false);
  return (
    <div className="field-row">
      <SearchBox type={type} label={label} describedBy={describedBy} onPick={onPick} />
      {"create" in type.actions && !isSingle(type) && (
        <Button className="button" onPress={() => setMakes(true)}>
          {t("links.create", { type: type.schema.displayName })}
        </Button>
      )}
      {makes && (
        <CreateDialog
          type={type}
          onClose={() => setMakes(false)}
          onCreated={(document) => {
            setMakes(false);
            onPick(linkOf(document, labelAttribute(type)));
          }}
        />
      )}
    </div>
  );
}

// SearchBox is a combobox of ARIA. That of React Aria holds a selection; here each pick empties the box again.
function SearchBox({ type, label, describedBy, onPick }: FinderProps) {
  const { server, locale } = useForm();
  const id = useId();
  const [text, setText] = useState("");
  const [isOpen, setOpen] = useState(false);
  const [found, setFound] = useState<Link[] | null>(null);
  const [foundFor, setFoundFor] = useState(""); // the text that found is for
  const [active, setActive] = useState(-1);

  useEffect(() => {
    if (!isOpen) return;
    const stop = new AbortController();
    const show = (links: Link[]) => {
      if (stop.signal.aborted) return;
      setFound(links);
      setFoundFor(text);
      setActive(text && links.length > 0 ? 0 : -1);
    };
    const timer = setTimeout(
      () =>
        server.search(type, text, locale, stop.signal).then(
          ({ items }) => show(items),
          () => show([]),
        ),
      text ? 150 : 0,
    );
    return () => {
      clearTimeout(timer);
      stop.abort();
    };
  }, [isOpen, text, type, locale, server]);

  const close = () => {
    setOpen(false);
    setFound(null);
    setActive(-1);
  };
  const pick = (link: Link | undefined) => {
    if (!link) return;
    onPick(link);
    setText("");
    close();
  };
  const press = (event: React.KeyboardEvent) => {
    const last = (found?.length ?? 0) - 1;
    const moves: Record<string, number> = {
      ArrowDown: active >= last ? 0 : active + 1,
      ArrowUp: active <= 0 ? last : active - 1,
    };
    // While a fast writer waits for what fits the text, no key picks from what fitted the text before.
    const isStale = isOpen && foundFor !== text;
    if (event.key in moves || (event.key === "Enter" && isOpen)) event.preventDefault();
    if (isStale && event.key !== "Escape") return;
    if (event.key in moves) {
      if (isOpen) setActive(last < 0 ? -1 : moves[event.key]!);
      else setOpen(true);
    } else if (event.key === "Enter" && isOpen) {
      pick(found?.[active]);
    } else if (event.key === "Escape" && isOpen) {
      event.stopPropagation(); // in a dialog, it closes the list alone
      close();
    }
  };
  return (
    <div className="finder">
      <input
        type="text"
        role="combobox"
        aria-label={label}
        aria-describedby={describedBy}
        aria-autocomplete="list"
        aria-expanded={isOpen && found !== null}
        aria-controls={isOpen && found !== null ? `${id}-list` : undefined}
        aria-activedescendant={isOpen && active >= 0 ? `${id}-${active}` : undefined}
        autoComplete="off"
        placeholder={label}
        value={text}
        onFocus={() => setOpen(true)}
        onClick={() => setOpen(true)}
        onBlur={close}
        onKeyDown={press}
        onChange={(event) => {
          setText(event.target.value);
          setActive(-1);
          setOpen(true);
        }}
      />
      {isOpen && found !== null && (
        <ul id={`${id}-list`} role="listbox" aria-label={label} className="finder-list">
          {found.map((link, index) => (
            <li
              key={link.documentId}
              id={`${id}-${index}`}
              role="option"
              aria-selected={index === active}
              onPointerDown={(event) => event.preventDefault()}
              onClick={() => pick(link)}
            >
              {link.label}
            </li>
          ))}
          {found.length === 0 && (
            <li role="option" aria-disabled="true" aria-selected="false" className="finder-none">
              {t("links.none")}
            </li>
          )}
        </ul>
      )}
    </div>
  );
}
