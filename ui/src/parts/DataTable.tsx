// The table behind a chart: made when it is opened, copied or saved as CSV.

import { useState } from "preact/hooks";

import { save } from "../clipboard";
import { visible } from "../outside";
import { csv, shown, type Table } from "../table";
import { useWords } from "../view";
import { CopyButton } from "./CopyBlock";
import { WideTable } from "./WideTable";

export function DataTable({ table, title }: { table: () => Table; title: string }) {
  const words = useWords();
  const [isOpen, setOpen] = useState(false);
  return (
    <details
      class="data"
      open={isOpen}
      onToggle={(event) => setOpen(event.currentTarget.open)}
    >
      <summary>{words.data}</summary>
      {isOpen && <Opened table={table()} title={title} />}
    </details>
  );
}

function Opened({ table, title }: { table: Table; title: string }) {
  const words = useWords();
  const fileName = `sweetspot-${table.name}.csv`;
  return (
    <>
      <div class="buttons">
        <CopyButton text={() => csv(table)} label={words.copy_csv} what={title} />
        <button type="button" onClick={() => save(fileName, csv(table))}>
          {words.save_csv}
        </button>
      </div>
      <PlainTable table={table} title={title} />
    </>
  );
}

/** A table as it stands, first column as the head of its rows. */
export function PlainTable({ table, title }: { table: Table; title: string }) {
  return (
    <WideTable title={title} name={table.name} tall>
      <thead>
        <tr>
          {table.columns.map((column) => (
            <th scope="col" key={column.key} class={column.format ? "figure" : undefined}>
              <bdi>{visible(column.label)}</bdi>
            </th>
          ))}
        </tr>
      </thead>
      <tbody>
        {table.rows.map((row, i) => (
          <tr key={i}>
            {row.map((value, at) => {
              const column = table.columns[at];
              const text = column ? visible(shown(value, column)) : "";
              const kind = column?.format || typeof value === "number" ? "figure" : undefined;
              return at === 0
                ? <th scope="row" key={at} class={kind}><bdi>{text}</bdi></th>
                : <td key={at} class={kind}><bdi>{text}</bdi></td>;
            })}
          </tr>
        ))}
      </tbody>
    </WideTable>
  );
}
