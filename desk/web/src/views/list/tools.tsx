// What a list is narrowed by: search, language, version, columns and filters.
import { useEffect, useState } from "react";
import { Button, Checkbox, CheckboxGroup, Dialog, DialogTrigger, Input, Label, SearchField } from "react-aria-components";
import { type Access, type Attribute, type ContentType, isLocalized, mainAttribute, readsDrafts } from "../../api/access.ts";
import { t } from "../../text/text.ts";
import { Box } from "../../ui/popover.tsx";
import { columnsOf } from "./columns.ts";
import { labelOf } from "../../form/field.ts";
import { stepsOf } from "./filter.ts";
import type { Condition, ListState } from "./state.ts";

interface ToolsProps {
  access: Access;
  type: ContentType;
  state: ListState;
  onChange: (part: Partial<ListState>) => void;
}

export function Tools({ access, type, state, onChange }: ToolsProps) {
  return (
    <div className="tools row">
      <Search value={state.search} onChange={(search) => onChange({ search })} />
      {isLocalized(type) && (
        <Choice label={t("list.locale")} value={state.locale} options={access.locales.map((code) => [code, code])} onChange={(locale) => onChange({ locale })} />
      )}
      {readsDrafts(access, type) && (
        <Choice
          label={t("list.status")}
          value={state.status}
          options={[["draft", t("list.draft")], ["published", t("list.published")]]}
          onChange={(status) => onChange({ status: status === "published" ? "published" : "draft" })}
        />
      )}
      <Columns type={type} columns={state.columns} onChange={(columns) => onChange({ columns })} />
      <Filters access={access} type={type} conditions={state.conditions} onChange={(conditions) => onChange({ conditions })} />
    </div>
  );
}

// Search tells of what was typed once the reader pauses, so that a list does not load for each letter.
function Search({ value, onChange }: { value: string; onChange: (value: string) => void }) {
  const [typed, setTyped] = useState(value);
  useEffect(() => setTyped(value), [value]);
  useEffect(() => {
    if (typed === value) return;
    const later = setTimeout(() => onChange(typed), 200);
    return () => clearTimeout(later);
  }, [typed, value]);
  return (
    <SearchField aria-label={t("list.search")} value={typed} onChange={setTyped} onSubmit={onChange}>
      <Input placeholder={t("list.search")} />
    </SearchField>
  );
}

interface ChoiceProps {
  label: string;
  value: string;
  options: [string, string][];
  onChange: (value: string) => void;
}

function Choice({ label, value, options, onChange }: ChoiceProps) {
  return (
    <select aria-label={label} value={value} onChange={(event) => onChange(event.target.value)}>
      {options.map(([key, text]) => <option key={key} value={key}>{text}</option>)}
    </select>
  );
}

function Columns({ type, columns, onChange }: { type: ContentType; columns: string[]; onChange: (columns: string[]) => void }) {
  const all = [...new Set([...(mainAttribute(type) ? [mainAttribute(type) as string] : []), ...columnsOf(type)])];
  return (
    <DialogTrigger>
      <Button className="button">{t("list.columns")}</Button>
      <Box>
        <Dialog aria-label={t("list.columns")}>
          <CheckboxGroup
            aria-label={t("list.columns")}
            value={columns}
            onChange={(chosen) => chosen.length > 0 && onChange(all.filter((name) => chosen.includes(name)))}
          >
            {all.map((name) => (
              <Checkbox key={name} value={name} className="checkbox">
                <span className="box" aria-hidden="true" />
                {labelOf(name)}
              </Checkbox>
            ))}
          </CheckboxGroup>
        </Dialog>
      </Box>
    </DialogTrigger>
  );
}

// operatorsOf returns the conditions that values of a type can be put to.
function operatorsOf(attribute: Attribute | undefined): string[] {
  switch (attribute?.type) {
    case "boolean":
    case "enumeration":
      return ["$eq", "$ne", "$null", "$notNull"];
    case "integer":
    case "biginteger":
    case "float":
    case "decimal":
    case "date":
    case "time":
    case "datetime":
    case "timestamp":
    case undefined:
      return ["$eq", "$ne", "$lt", "$lte", "$gt", "$gte", "$null", "$notNull"];
    default:
      return ["$containsi", "$eqi", "$eq", "$ne", "$startsWithi", "$endsWithi", "$in", "$null", "$notNull"];
  }
}

interface FiltersProps {
  access: Access;
  type: ContentType;
  conditions: Condition[];
  onChange: (conditions: Condition[]) => void;
}

function Filters({ access, type, conditions, onChange }: FiltersProps) {
  const [asked, setAsked] = useState<string[]>([]);
  const { steps, path } = stepsOf(access, type, asked);
  const attribute = steps.at(-1)?.get(path.at(-1) ?? "");
  const operators = operatorsOf(attribute);
  const [operator, setOperator] = useState(operators[0] ?? "$eq");
  const [value, setValue] = useState("");
  const used = operators.includes(operator) ? operator : (operators[0] ?? "$eq");
  const needsValue = used !== "$null" && used !== "$notNull";
  const values = attribute?.type === "boolean" ? ["true", "false"] : attribute?.type === "enumeration" ? (attribute.enum ?? []) : null;
  const given = values && !values.includes(value) ? (values[0] ?? "") : value;
  const add = (close: () => void) => {
    onChange([...conditions, { path, operator: used, value: needsValue ? given : "" }]);
    close();
  };
  return (
    <>
      <ul className="row chips" aria-label={t("list.filters")}>
        {conditions.map((c, i) => (
          <li key={`${c.path.join(".")} ${c.operator} ${c.value}`} className="chip">
            {c.path.map(labelOf).join(" › ")} {symbolOf(c.operator)} {c.value}
            <Button aria-label={t("list.removeFilter")} onPress={() => onChange(conditions.filter((_, j) => j !== i))}>×</Button>
          </li>
        ))}
      </ul>
      <DialogTrigger>
        <Button className="button">{t("list.addFilter")}</Button>
        <Box>
          <Dialog aria-label={t("list.addFilter")}>
            {({ close }) => (
              <form
                className="column"
                onSubmit={(event) => {
                  event.preventDefault();
                  add(close);
                }}
              >
                {steps.map((step, i) => (
                  <Choice
                    key={i}
                    label={i === 0 ? t("list.attribute") : t("list.attributeOf", { name: labelOf(path[i - 1] ?? "") })}
                    value={path[i] ?? ""}
                    options={[...step].map(([name, a]) => [name, labelOf(name) + (a?.type === "relation" || a?.type === "component" ? " ›" : "")])}
                    onChange={(name) => setAsked([...path.slice(0, i), name])}
                  />
                ))}
                <Choice label={t("list.operator")} value={used} options={operators.map((o) => [o, symbolOf(o)])} onChange={setOperator} />
                {needsValue && (values
                  ? <Choice label={t("list.value")} value={given} options={values.map((v) => [v, v])} onChange={setValue} />
                  : (
                    <label className="column">
                      <Label>{t("list.value")}</Label>
                      <input value={value} onChange={(event) => setValue(event.target.value)} required />
                    </label>
                  ))}
                <Button type="submit" className="button primary">{t("list.addFilter")}</Button>
              </form>
            )}
          </Dialog>
        </Box>
      </DialogTrigger>
    </>
  );
}

const symbols: Record<string, string> = { $eq: "=", $ne: "≠", $lt: "<", $lte: "≤", $gt: ">", $gte: "≥", $containsi: "∋", $eqi: "≈", $startsWithi: "a…",
  $endsWithi: "…z", $in: "∈", $null: "∅", $notNull: "≠ ∅" };

const symbolOf = (operator: string) => symbols[operator] ?? operator;
