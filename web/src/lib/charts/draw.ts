import {
  BarController,
  BarElement,
  CategoryScale,
  Chart,
  LinearScale,
  LineController,
  LineElement,
  LogarithmicScale,
  PointElement,
  Tooltip,
  type ChartConfiguration,
} from 'chart.js'
import { colorOf, dashes, fillOf, points } from './patterns'
import { decades, tick } from './ticks'

Chart.register(BarController, BarElement, CategoryScale, LinearScale, LineController, LineElement, LogarithmicScale, PointElement, Tooltip)

export interface Series {
  name: string
  values: (number | null)[]
  /** The pattern and color to use; by default the index of the series. */
  look?: number
}

export interface Spec {
  kind: 'bar' | 'line'
  labels: string[]
  series: Series[]
  stacked?: boolean
  horizontal?: boolean
  log?: boolean
  /** Labels every bar, slanted if space is short. */
  everyLabel?: boolean
  /** The maximum of the axis, if fixed. */
  most?: number
  format: (n: number) => string
}

/** Draws a chart in the current colors. Destroy it before drawing it again. */
export function draw(canvas: HTMLCanvasElement, spec: Spec): { destroy(): void } {
  const within = canvas.parentElement!
  const ink = colorOf('--muted', within)
  const line = colorOf('--line', within)
  const font = { family: getComputedStyle(within).fontFamily, size: 12 }
  const bar = spec.kind === 'bar'
  const value = {
    type: spec.log ? ('logarithmic' as const) : ('linear' as const),
    stacked: spec.stacked,
    beginAtZero: true,
    suggestedMax: spec.most,
    ...(spec.log ? decades(spec.series.flatMap((s) => s.values)) : {}),
    grid: { color: line },
    border: { display: false },
    ticks: { color: ink, font, maxTicksLimit: 6, callback: (v: string | number, i: number, all: { value: number }[]) => tick(Number(v), all[i - 1]?.value, spec) },
  }
  const category = {
    type: 'category' as const,
    stacked: spec.stacked,
    grid: { display: false },
    border: { color: line },
    ticks: { color: ink, font, maxRotation: spec.everyLabel ? 60 : 0, autoSkip: !spec.horizontal && !spec.everyLabel, autoSkipPadding: 14 },
  }
  const config: ChartConfiguration<'bar' | 'line', (number | null)[], string> = {
    type: spec.kind,
    data: {
      labels: spec.labels,
      datasets: spec.series.map((s, i) => {
        const look = s.look ?? i
        const color = colorOf(`--series-${look % 8}`, within)
        return {
          label: s.name,
          data: s.values,
          backgroundColor: bar ? fillOf(look, within) : color,
          borderColor: bar ? colorOf('--surface', within) : color,
          borderWidth: bar ? (spec.stacked ? 1 : 0) : 2,
          borderDash: bar ? undefined : dashes[look % 8],
          borderRadius: bar && !spec.stacked ? 4 : 0,
          pointStyle: points[look % 8],
          pointRadius: spec.labels.length > 60 ? 0 : 3.5,
          pointHoverRadius: 6,
          maxBarThickness: 34,
          tension: 0,
          spanGaps: true,
        }
      }),
    },
    options: {
      animation: false,
      responsive: true,
      maintainAspectRatio: false,
      indexAxis: spec.horizontal ? 'y' : 'x',
      interaction: { mode: 'index', axis: spec.horizontal ? 'y' : 'x', intersect: false },
      scales: spec.horizontal ? { x: value, y: category } : { x: category, y: value },
      plugins: {
        tooltip: {
          backgroundColor: colorOf('--text', within),
          titleColor: colorOf('--surface', within),
          bodyColor: colorOf('--surface', within),
          titleFont: font,
          bodyFont: font,
          usePointStyle: !bar,
          filter: (item) => !spec.stacked || Boolean(item.raw),
          callbacks: { label: (item) => `${item.dataset.label}: ${spec.format(Number(item.raw))}` },
        },
      },
    },
  }
  return new Chart(canvas, config)
}
