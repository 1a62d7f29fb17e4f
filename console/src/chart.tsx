import './chart.css'
import { roundUp, type Day } from './days.ts'
import { count } from './text.ts'

/** Draws what was counted day by day as bars, the series on top of each other; the same numbers are in a table. */
export function DayBars({ title, days, series }: { title: string; days: readonly Day[]; series: readonly string[] }) {
  const sum = (d: Day) => series.reduce((n, s) => n + (d.counts[s] ?? 0), 0)
  const most = roundUp(Math.max(0, ...days.map(sum)))
  const total = (s: string) => days.reduce((n, d) => n + (d.counts[s] ?? 0), 0)
  const listed = days.filter(d => sum(d) > 0).reverse()
  return (
    <figure class="chart">
      <figcaption class="row"><h2>{title}</h2>{series.map((s, i) => (
        <span key={s} class="small soft"><svg class="swatch" viewBox="0 0 8 8" aria-hidden="true"><rect class={`hue${i}`} width="8" height="8" rx="2" /></svg>{s} {count(total(s))}</span>
      ))}</figcaption>
      <div class="plot">
        <span class="small soft most">{count(most)}</span>{most % 2 === 0 && <span class="small soft half">{count(most / 2)}</span>}<span class="small soft none">0</span>
        <svg viewBox={`0 0 ${days.length} 100`} preserveAspectRatio="none" role="img" aria-label={`${title}, by day`}>
          {days.map((d, x) => {
            let top = 100
            return series.map((s, i) => {
              const height = ((d.counts[s] ?? 0) / most) * 100
              top -= height
              return height > 0 && <rect key={`${d.day}${s}`} class={`hue${i}`} x={x + 0.1} y={top} width={0.8} height={height}><title>{`${d.day}: ${count(d.counts[s] ?? 0)} ${s}`}</title></rect>
            })
          })}
        </svg>
      </div>
      <p class="row between small soft"><span>{days[0]?.day}</span><span>{days[days.length - 1]?.day}</span></p>
      {listed.length > 0 && (
        <details class="why">
          <summary>as a table</summary>
          <div class="scroll" tabindex={0} role="region" aria-label={`${title}, as a table`}>
            <table>
              <thead><tr><th scope="col">Day (UTC)</th>{series.map(s => <th key={s} scope="col">{s}</th>)}</tr></thead>
              <tbody>{listed.map(d => <tr key={d.day}><td>{d.day}</td>{series.map(s => <td key={s}>{count(d.counts[s] ?? 0)}</td>)}</tr>)}</tbody>
            </table>
          </div>
        </details>
      )}
    </figure>
  )
}
