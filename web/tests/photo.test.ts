// @vitest-environment happy-dom
import { expect, test, vi } from 'vitest'
import { base64, fitted, photoOf, smaller } from '../src/lib/photo'

test('a picture is made as small as the server wants it, and never larger', () => {
  expect(fitted(4000, 3000)).toEqual({ width: 1600, height: 1200 })
  expect(fitted(1000, 3200)).toEqual({ width: 500, height: 1600 })
  expect(fitted(640, 480)).toEqual({ width: 640, height: 480 })
  expect(fitted(99999, 3)).toEqual({ width: 1600, height: 1 })
})

test('what the browser cannot read is sent as it is', async () => {
  vi.stubGlobal('createImageBitmap', () => Promise.reject(new Error('no picture')))
  const file = new Blob(['no picture'])
  expect(await smaller(file)).toBe(file)
  expect(await base64(file)).toBe(btoa('no picture'))
})

test('another photo has another address', () => {
  expect(photoOf({ id: 7, photo: 'ab' }, 'small')).toBe('/api/v1/rooms/7/photo?size=small&v=ab')
})
