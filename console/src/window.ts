/** Returns which rows of equal height to draw: those in sight, and as many before and after. `top` is how far the list is scrolled up. */
export function windowOf(top: number, height: number, row: number, rows: number): { first: number; last: number } {
  const inSight = Math.ceil(height / row) + 1
  const at = Math.min(Math.max(0, Math.floor(top / row)), rows)
  return { first: Math.max(0, Math.min(at - inSight, rows - inSight)), last: Math.min(rows, at + 2 * inSight) }
}
