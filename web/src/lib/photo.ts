// Photos of rooms: their addresses, and pictures made small enough to upload.

const mostBytes = 720 * 1024 // what the server accepts
const mostSide = 1600

/** Returns the address of a room's photo, which the browser may keep: another photo has another address. */
export function photoOf(room: { id: number; photo: string | null }, size: 'large' | 'small'): string {
  return `/api/v1/rooms/${room.id}/photo?size=${size}&v=${room.photo ?? ''}`
}

/** Returns the size in which a picture is uploaded. */
export function fitted(width: number, height: number): { width: number; height: number } {
  const scale = Math.min(1, mostSide / Math.max(width, height))
  return { width: Math.max(1, Math.round(width * scale)), height: Math.max(1, Math.round(height * scale)) }
}

/** Returns a picture as a smaller JPEG if it is large; with clear as PNG, which keeps what is transparent. What the browser cannot read is left for the server to refuse. */
export async function smaller(file: Blob, clear = false): Promise<Blob> {
  const bitmap = await createImageBitmap(file).catch(() => null)
  if (!bitmap) return file
  const { width, height } = fitted(bitmap.width, bitmap.height)
  if (width === bitmap.width && height === bitmap.height && file.size <= mostBytes) return file
  const canvas = new OffscreenCanvas(width, height)
  const draw = canvas.getContext('2d')!
  if (clear) {
    draw.drawImage(bitmap, 0, 0, width, height)
    return canvas.convertToBlob({ type: 'image/png' })
  }
  draw.fillStyle = '#fff'
  draw.fillRect(0, 0, width, height)
  draw.drawImage(bitmap, 0, 0, width, height)
  let made = file
  for (const quality of [0.9, 0.75, 0.5]) {
    made = await canvas.convertToBlob({ type: 'image/jpeg', quality })
    if (made.size <= mostBytes) break
  }
  return made
}

/** Returns a file as base64. */
export function base64(file: Blob): Promise<string> {
  return new Promise((done, fail) => {
    const reader = new FileReader()
    reader.onload = () => done(String(reader.result).split(',')[1] ?? '')
    reader.onerror = () => fail(reader.error)
    reader.readAsDataURL(file)
  })
}
