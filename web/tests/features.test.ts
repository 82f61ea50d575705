import { expect, test } from 'vitest'
import { pictureOf } from '../src/lib/features'

test('usual features have a picture in each language, however they are written', () => {
  const same = (...names: string[]) => expect(new Set(names.map(pictureOf)).size, names.join()).toBe(1)
  same('projector', 'Projector', '2 projectors', '2x Beamer', ' 投影仪 ')
  same('flipchart', 'Flip-Charts', 'flip_chart')
  same('Wheelchair accessible', 'step-free', 'barrierefrei', '无障碍')
  same('TV', 'Display', 'Bildschirm')
  for (const name of ['whiteboard', 'video', 'phone', 'Videokonferenz', 'WLAN', 'air conditioning', 'Sound']) expect(pictureOf(name), name).toMatch(/^M/)
})

test('other features stay words', () => {
  for (const name of ['harp', '', '3', 'screens of gold', 'constructor', 'toString']) expect(pictureOf(name), name).toBeUndefined()
})
