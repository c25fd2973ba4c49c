// What surrounds the input of every field: its label, what it takes, and its errors.
import { type ReactNode, useId } from "react";
import { t } from "../../text/text.ts";
import { type FieldProps, isShared, labelOf, useErrors, useForm } from "../field.ts";
import type { Attribute } from "../value.ts";

export interface FrameParts {
  id: string;
  labelId: string;
  describedBy: string | undefined;
  isInvalid: boolean;
  hint: string;
  errors: string[];
}

// useFrame returns the ids that join an input with its label, hint and errors.
export function useFrame(field: FieldProps, hint = hintOf(field.attribute)): FrameParts {
  const id = useId();
  const errors = useErrors(field.path, ["component", "dynamiczone"].includes(field.attribute.type));
  const describing = [hint ? `${id}-hint` : "", errors.length > 0 ? `${id}-error` : ""].filter(Boolean).join(" ");
  return {
    id,
    labelId: `${id}-label`,
    describedBy: describing || undefined,
    isInvalid: errors.length > 0,
    hint,
    errors,
  };
}

// inputProps returns the properties of a plain input.
export function inputProps(parts: FrameParts, field: FieldProps) {
  return {
    id: parts.id,
    "aria-describedby": parts.describedBy,
    "aria-invalid": parts.isInvalid || undefined,
    "aria-required": field.attribute.required || undefined,
  };
}

interface FrameProps {
  field: FieldProps;
  parts: FrameParts;
  // isGroup is set if the input is several elements, which the label names as a group.
  isGroup?: boolean;
  // beside is shown at the end of the label's line.
  beside?: ReactNode;
  children: ReactNode;
}

export function Frame({ field, parts, isGroup = false, beside, children }: FrameProps) {
  const { isLocalized } = useForm();
  const label = (
    <>
      {labelOf(field.name)}
      {field.attribute.required && (
        <span className="field-required" title={t("field.required")}>
          *
        </span>
      )}
    </>
  );
  return (
    <div
      className="field"
      data-path={field.path}
      data-invalid={parts.isInvalid || undefined}
      {...(isGroup ? { role: "group", "aria-labelledby": parts.labelId, "aria-describedby": parts.describedBy } : {})}
    >
      <div className="field-head">
        {isGroup ? (
          <span id={parts.labelId} className="field-label">
            {label}
          </span>
        ) : (
          <label id={parts.labelId} htmlFor={parts.id} className="field-label">
            {label}
          </label>
        )}
        {isLocalized && field.path === field.name && isShared(field.attribute) && (
          <span className="field-count">{t("history.shared")}</span>
        )}
        {beside}
      </div>
      {children}
      {parts.hint && (
        <p id={`${parts.id}-hint`} className="field-hint">
          {parts.hint}
        </p>
      )}
      {parts.isInvalid && (
        <div id={`${parts.id}-error`} className="field-error" role="alert">
          {parts.errors.map((message) => (
            <p key={message}>{message}</p>
          ))}
        </div>
      )}
    </div>
  );
}

// hintOf returns what a definition says of the values of an attribute.
export function hintOf(a: Attribute): string {
  const hints: string[] = [];
  const range = (least: unknown, most: unknown, kind: "items" | "number" | "length") => {
    if (least !== undefined && most !== undefined) hints.push(t(`field.${kind}Between`, { least, most }));
    else if (least !== undefined) hints.push(t(`field.${kind}Least`, { least }));
    else if (most !== undefined) hints.push(t(`field.${kind}Most`, { most }));
  };
  range(a.min, a.max, a.type === "component" || a.type === "dynamiczone" ? "items" : "number");
  range(a.minLength, a.maxLength, "length");
  if (a.regex) hints.push(t("field.pattern", { pattern: a.regex }));
  if (a.unique) hints.push(t("field.unique"));
  return hints.join(" ");
}
