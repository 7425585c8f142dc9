// The table behind a chart: shown under it, copied or saved as CSV. Cells hold base units; how
// people read them is each column's business.

export type Value = string | number | boolean | null;

export interface Column {
  /** Head in CSV, with the unit: `capacity_rps`. */
  key: string;
  /** Head on the page. */
  label: string;
  format?: (value: number) => string;
}

export interface Table {
  /** What it shows, for its caption and file name. */
  name: string;
  columns: Column[];
  rows: Value[][];
}

/** As the page shows a cell; nothing known is a dash. */
export function shown(value: Value, column: Column): string {
  if (value === null || value === "") return "–";
  if (typeof value === "number") return column.format ? column.format(value) : String(value);
  return typeof value === "boolean" ? (value ? "✓" : "–") : value;
}

/** RFC 4180. */
export function csv(table: Table): string {
  const lines = [table.columns.map((column) => field(column.key))];
  for (const row of table.rows) lines.push(row.map(field));
  return lines.map((line) => line.join(",") + "\r\n").join("");
}

function field(value: Value): string {
  if (value === null) return "";
  if (typeof value !== "string") return String(value);
  // A spreadsheet runs a cell that begins so; the text came from outside.
  const text = /^[=+\-@\t\r]/.test(value) ? `'${value}` : value;
  return /[",\r\n]/.test(text) ? `"${text.replaceAll('"', '""')}"` : text;
}
