// A field for repeatable components and dynamic zones: a list of items that people add, move, copy, collapse and
// remove.
import { memo, useCallback, useMemo, useState } from "react";
import { Button, Menu, MenuItem, MenuTrigger } from "react-aria-components";
import { t } from "../../text/text.ts";
import { Box } from "../../ui/popover.tsx";
import { CopyIcon } from "../../ui/icons.tsx";
import { type Change, changed, type FieldProps, labelOf, useErrorsBelow, useForm } from "../field.ts";
import { Fields } from "../fields.tsx";
import { insertItem, itemsOf, moveItem, removeItem, replaceItem, summaryOf } from "../items.ts";
import { attributesOf, type Attribute, copyItem, type Item, keyOf, newItem } from "../value.ts";
import { Frame, useFrame } from "./frame.tsx";
import { EntryButton, Sortable, useEntry } from "./sortable.tsx";

// A list of more items than these opens with all of them collapsed.
const mostOpen = 5;

interface Removed {
  item: Item;
  index: number;
}

export function ItemsField(props: FieldProps) {
  const form = useForm();
  const { name, onChange, attribute } = props;
  const items = itemsOf(props.value);
  const isZone = attribute.type === "dynamiczone";
  const parts = useFrame(props);
  const [open, setOpen] = useState<ReadonlySet<string>>(() => new Set(items.length > mostOpen ? [] : items.map(keyOf)));
  const [removed, setRemoved] = useState<Removed | null>(null);

  const change = useCallback(
    (by: (old: Item[]) => Item[]) => onChange(name, (old: unknown) => by(itemsOf(old))),
    [name, onChange],
  );
  const setOne = useCallback(
    (key: string, isOpen: boolean) =>
      setOpen((old) => {
        const next = new Set(old);
        if (isOpen) next.add(key);
        else next.delete(key);
        return next;
      }),
    [],
  );

  const add = (uid: string) => {
    const item = newItem(uid, form.components, isZone);
    change((old) => [...old, item]);
    setOne(keyOf(item), true);
  };
  const actions = useMemo(
    (): Actions => ({
      change,
      setOpen: setOne,
      move: (key, to) => change((old) => moveItem(old, key, Math.max(0, Math.min(to, old.length - 1)))),
      copy(item, index) {
        const copy = copyItem(item, attributesOf(item, attribute, form.components), form.components);
        change((old) => insertItem(old, index + 1, copy));
        setOne(keyOf(copy), true);
      },
      remove(item, index) {
        change((old) => removeItem(old, keyOf(item)));
        setRemoved({ item, index });
      },
    }),
    [change, setOne, attribute, form.components],
  );

  const most = attribute.max === undefined ? Infinity : Number(attribute.max);
  const names = useMemo(() => items.map(keyOf), [items.map(keyOf).join(" ")]);
  return (
    <Frame
      field={props}
      parts={parts}
      isGroup
      beside={
        items.length > 1 && (
          <div className="field-row">
            <span className="field-count">{t("items.count", { n: items.length })}</span>
            <Button className="button" onPress={() => setOpen(new Set())}>
              {t("items.collapseAll")}
            </Button>
            <Button className="button" onPress={() => setOpen(new Set(names))}>
              {t("items.openAll")}
            </Button>
          </div>
        )
      }
    >
      <Sortable
        names={names}
        onMove={actions.move}
        label={(key) =>
          nameOf(
            items.find((item) => keyOf(item) === key),
            props,
          )
        }
      >
        <ol className="items">
          {items.map((item, index) => (
            <ItemRow
              key={keyOf(item)}
              item={item}
              index={index}
              count={items.length}
              path={`${props.path}.${index}`}
              attribute={attribute}
              isOpen={open.has(keyOf(item))}
              isFull={items.length >= most}
              actions={actions}
            />
          ))}
        </ol>
      </Sortable>
      {removed && !form.isReadOnly && (
        <div className="items-removed" role="status">
          {t("items.removed", { name: nameOf(removed.item, props) })}
          <Button
            className="button"
            onPress={() => {
              change((old) => insertItem(old, Math.min(removed.index, old.length), removed.item));
              setRemoved(null);
            }}
          >
            {t("items.undo")}
          </Button>
        </div>
      )}
      {!form.isReadOnly && items.length < most && <Adder attribute={attribute} name={labelOf(name)} onAdd={add} />}
    </Frame>
  );
}

function nameOf(item: Item | undefined, { attribute, name }: FieldProps): string {
  if (!item) return "";
  return (
    [item.__component ?? labelOf(name), summaryOf(item, Object.keys(item))].filter(Boolean).join(": ") || attribute.type
  );
}

interface Actions {
  change: (by: (old: Item[]) => Item[]) => void;
  setOpen: (key: string, isOpen: boolean) => void;
  move: (key: string, to: number) => void;
  copy: (item: Item, index: number) => void;
  remove: (item: Item, index: number) => void;
}

interface ItemRowProps {
  item: Item;
  index: number;
  count: number;
  path: string;
  attribute: Attribute;
  isOpen: boolean;
  isFull: boolean;
  actions: Actions;
}

const ItemRow = memo(function ItemRow(props: ItemRowProps) {
  const { item, index, count, path, attribute, actions } = props;
  const form = useForm();
  const key = keyOf(item);
  const attributes = attributesOf(item, attribute, form.components);
  const isOpen = useErrorsBelow(path) || props.isOpen;
  const set = useCallback(
    (name: string, change: Change) =>
      actions.change((old) => replaceItem(old, key, (now) => ({ ...now, [name]: changed(change, now[name]) }))),
    [actions, key],
  );
  const title = form.componentName(item.__component ?? attribute.component ?? "");
  const label = t("items.item", { n: index + 1, name: title });
  const entry = useEntry(key, label);
  return (
    <li ref={entry.ref} className="item" data-dragging={entry.isDragging || undefined} style={entry.style}>
      <div className="item-head">
        {!form.isReadOnly && entry.handle}
        <button
          type="button"
          className="item-title"
          aria-expanded={isOpen}
          onClick={() => actions.setOpen(key, !isOpen)}
        >
          <span className="item-number">{index + 1}</span> {title}
          {!isOpen && <span className="item-summary">{summaryOf(item, Object.keys(attributes))}</span>}
        </button>
        {!form.isReadOnly && (
          <>
            <EntryButton
              label={t("items.up", { name: label })}
              isDisabled={index === 0}
              onPress={() => actions.move(key, index - 1)}
            >
              ↑
            </EntryButton>
            <EntryButton
              label={t("items.down", { name: label })}
              isDisabled={index === count - 1}
              onPress={() => actions.move(key, index + 1)}
            >
              ↓
            </EntryButton>
            <EntryButton
              label={t("items.copy", { name: label })}
              isDisabled={props.isFull}
              onPress={() => actions.copy(item, index)}
            >
              <CopyIcon />
            </EntryButton>
            <EntryButton label={t("items.remove", { name: label })} onPress={() => actions.remove(item, index)}>
              ✕
            </EntryButton>
          </>
        )}
      </div>
      {isOpen && (
        <div className="item-fields" role="group" aria-label={label}>
          <Fields attributes={attributes} values={item} path={path} onChange={set} />
        </div>
      )}
    </li>
  );
});

function Adder({ attribute, name, onAdd }: { attribute: Attribute; name: string; onAdd: (uid: string) => void }) {
  const { componentName } = useForm();
  if (attribute.type !== "dynamiczone") {
    return (
      <Button className="button" onPress={() => onAdd(attribute.component!)}>
        {t("items.addOne", { name })}
      </Button>
    );
  }
  return (
    <MenuTrigger>
      <Button className="button">{t("items.addTo", { name })}</Button>
      <Box>
        <Menu className="choices" onAction={(uid) => onAdd(String(uid))}>
          {(attribute.components ?? []).map((uid) => (
            <MenuItem key={uid} id={uid}>
              {componentName(uid)}
            </MenuItem>
          ))}
        </Menu>
      </Box>
    </MenuTrigger>
  );
}
