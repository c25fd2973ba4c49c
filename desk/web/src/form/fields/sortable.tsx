// Lists whose entries people move: by the pointer, or by keys on the handle of an entry: space, arrows, space.
import { closestCenter, DndContext, type DragEndEvent, PointerSensor, useSensor, useSensors } from "@dnd-kit/core";
import { SortableContext, useSortable, verticalListSortingStrategy } from "@dnd-kit/sortable";
import { CSS } from "@dnd-kit/utilities";
import { createContext, type CSSProperties, type ReactNode, useContext, useMemo, useRef, useState } from "react";
import { t } from "../../text/text.ts";

interface SortableProps {
  // names are the keys of the entries, in their order.
  names: string[];
  // onMove moves an entry to an index.
  onMove: (name: string, to: number) => void;
  label: (name: string) => string;
  children: ReactNode;
}

// Keys is what the handles of a list share.
interface Keys {
  press: (name: string, event: React.KeyboardEvent) => void;
  drop: (name: string) => void;
}

const KeysContext = createContext<Keys>({ press: () => {}, drop: () => {} });

// The options are the same object for each rendering: others would render all entries of all lists anew.
const pointerOptions = { activationConstraint: { distance: 4 } };
const silent = {
  onDragStart: () => undefined,
  onDragOver: () => undefined,
  onDragEnd: () => undefined,
  onDragCancel: () => undefined,
};

export function Sortable(props: SortableProps) {
  const latest = useRef(props);
  latest.current = props;
  const lifted = useRef<{ name: string; from: number } | null>(null);
  const [said, setSaid] = useState("");
  const sensors = useSensors(useSensor(PointerSensor, pointerOptions));

  const say = (key: "move.begun" | "move.over" | "move.ended", name: string, index: number) => {
    const { names, label } = latest.current;
    setSaid(t(key, { name: label(name), n: index + 1, count: names.length }));
  };
  const end = ({ active, over }: DragEndEvent) => {
    if (!over || active.id === over.id) return;
    const to = latest.current.names.indexOf(String(over.id));
    latest.current.onMove(String(active.id), to);
    say("move.ended", String(active.id), to);
  };
  const keys = useMemo((): Keys => {
    const drop = (name: string) => {
      if (lifted.current?.name !== name) return;
      lifted.current = null;
      say("move.ended", name, latest.current.names.indexOf(name));
    };
    const press = (name: string, event: React.KeyboardEvent) => {
      const { names, onMove, label } = latest.current;
      const index = names.indexOf(name);
      const isLifted = lifted.current?.name === name;
      if (event.key === " " || event.key === "Enter") {
        event.preventDefault();
        if (isLifted) return drop(name);
        lifted.current = { name, from: index };
        return say("move.begun", name, index);
      }
      if (!isLifted) return;
      if (event.key === "Escape") {
        event.preventDefault();
        event.stopPropagation();
        onMove(name, lifted.current!.from);
        lifted.current = null;
        return setSaid(t("move.cancelled", { name: label(name) }));
      }
      const by = event.key === "ArrowDown" ? 1 : event.key === "ArrowUp" ? -1 : 0;
      if (by === 0) return;
      event.preventDefault();
      const to = Math.max(0, Math.min(index + by, names.length - 1));
      if (to === index) return;
      onMove(name, to);
      say("move.over", name, to);
    };
    return { press, drop };
  }, []);
  return (
    <KeysContext value={keys}>
      <DndContext
        sensors={sensors}
        collisionDetection={closestCenter}
        onDragEnd={end}
        accessibility={{ announcements: silent, screenReaderInstructions: { draggable: t("move.instructions") } }}
      >
        <SortableContext items={props.names} strategy={verticalListSortingStrategy}>
          {props.children}
        </SortableContext>
      </DndContext>
      <span role="status" className="visually-hidden">
        {said}
      </span>
    </KeysContext>
  );
}

// useEntry returns what makes an element an entry of a Sortable, and its handle.
export function useEntry(name: string, label: string) {
  const sortable = useSortable({ id: name });
  const { press, drop } = useContext(KeysContext);
  const style: CSSProperties = {
    transform: CSS.Translate.toString(sortable.transform),
    transition: sortable.transition,
  };
  const handle = (
    <button
      type="button"
      ref={sortable.setActivatorNodeRef}
      className="item-handle"
      {...sortable.attributes}
      {...sortable.listeners}
      aria-label={t("items.drag", { name: label })}
      onKeyDown={(event) => press(name, event)}
      onBlur={() => drop(name)}
    >
      ⠿
    </button>
  );
  return { ref: sortable.setNodeRef, style, isDragging: sortable.isDragging, handle };
}

export interface EntryButtonsProps {
  name: string;
  isSorted: boolean;
  isReadOnly: boolean;
  isFirst: boolean;
  isLast: boolean;
  onMove: (by: -1 | 1) => void;
  onRemove: () => void;
}

// EntryButtons move an entry of a list by one place, and take it out.
export function EntryButtons({ name, isSorted, isReadOnly, isFirst, isLast, onMove, onRemove }: EntryButtonsProps) {
  return (
    <>
      {isSorted && (
        <>
          <EntryButton label={t("items.up", { name })} isDisabled={isFirst} onPress={() => onMove(-1)}>
            ↑
          </EntryButton>
          <EntryButton label={t("items.down", { name })} isDisabled={isLast} onPress={() => onMove(1)}>
            ↓
          </EntryButton>
        </>
      )}
      {!isReadOnly && (
        <EntryButton label={t("links.remove", { name })} onPress={onRemove}>
          ✕
        </EntryButton>
      )}
    </>
  );
}

interface EntryButtonProps {
  label: string;
  isDisabled?: boolean;
  onPress: () => void;
  children: React.ReactNode;
}

export function EntryButton({ label, isDisabled = false, onPress, children }: EntryButtonProps) {
  return (
    <button
      type="button"
      className="item-button"
      aria-label={label}
      title={label}
      disabled={isDisabled}
      onClick={onPress}
    >
      {children}
    </button>
  );
}
