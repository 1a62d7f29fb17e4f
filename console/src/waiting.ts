import { count, plural } from './text.ts'

/** What the API says of what waits in a memory. */
interface Work {
  stages: readonly { stage: string; waiting: number; seconds_left?: number }[]
  dead: number
}

/** What happens to so many notes in a stage. */
const doing: Record<string, (n: number) => string> = {
  vectors: n => `${plural(n, 'note')} ${n === 1 ? 'waits' : 'wait'} for a vector`,
  description: n => `${plural(n, 'note')} ${n === 1 ? 'is' : 'are'} being described`,
  links: n => `${plural(n, 'note')} ${n === 1 ? 'is' : 'are'} being linked`,
  policy: n => `${plural(n, 'task')} of the policy ${n === 1 ? 'waits' : 'wait'}`,
}

/** Says what waits in a memory and how long that takes; empty when all is done. */
export function waitingIn(work: Work | undefined): string {
  const stages = (work?.stages ?? []).filter(s => s.waiting > 0).map(s => `${(doing[s.stage] ?? (n => `${count(n)} wait`))(s.waiting)}${lasting(s.seconds_left)}`)
  return [...stages, ...(work && work.dead > 0 ? [`${plural(work.dead, 'job')} given up`] : [])].join(' · ')
}

function lasting(seconds: number | undefined): string {
  if (seconds === undefined) return ''
  if (seconds < 50) return ', less than a minute'
  const minutes = Math.round(seconds / 60)
  return minutes < 90 ? `, about ${plural(minutes, 'minute')}` : `, about ${plural(Math.round(minutes / 60), 'hour')}`
}
