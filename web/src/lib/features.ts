// Features of rooms are free words. The usual ones have a picture: line drawings on a 20 x 20 grid.

const pictures = {
  projector: 'M2.5 8.5h15v6h-15zM5 14.5v1.8M15 14.5v1.8M12.5 13.4a2 2 0 1 0 0-4 2 2 0 0 0 0 4zM5 11.4h2.5M10.5 5.5l-1-2M12.5 5.5v-2.3M14.5 5.5l1-2',
  screen: 'M2.5 4h15v10h-15zM7 17h6M10 14v3',
  whiteboard: 'M3 3.5h14v9.5H3zM2 13h16M6.5 13l-1.5 4M13.5 13l1.5 4M6 9.5c1.5-3 2.5 1.5 4-.5s2-2 3.5-1',
  flipchart: 'M4.5 3h11v10.5h-11zM10 13.5V17M7.5 13.5L6 17.5M12.5 13.5l1.5 4M7 6.5h6M7 9.5h4',
  video: 'M2.5 5.5h10v9h-10zM12.5 9l5-2.5v7l-5-2.5z',
  phone: 'M6.2 3.5l2 3.6-1.7 1.6c.8 2 2.2 3.6 4.6 4.8l1.6-1.7 3.8 2c-.2 1.8-1.3 3-3 3C8.3 16.3 3.2 11 3.2 6.200c0-1.5 1.2-2.7 3-2.700z',
  microphone: 'M10 12.500a2.5 2.5 0 0 0 2.5-2.500V5.500a2.5 2.5 0 0 0-5 0V10a2.5 2.5 0 0 0 2.5 2.500zM5 9.500V10a5 5 0 0 0 10 0v-.5M10 15v2.500M7.5 17.500h5',
  speaker: 'M3 8v4h3l4 3.500v-11L6 8zM13 7.500a3.5 3.5 0 0 1 0 5M15.3 5.300a6.6 6.6 0 0 1 0 9.4',
  wheelchair: 'M8.3 4.300a1.3 1.3 0 1 0 0-2.6 1.3 1.3 0 0 0 0 2.600zM8.3 6.500v5h4.700l2.2 4.5 1.5-.6M8.3 8.700h4M6.3 9.400a4.4 4.4 0 1 0 6 5.8',
  air: 'M10 2.500v15M3.5 6.250l13 7.500M16.5 6.250l-13 7.500M7.8 3.800L10 5.600l2.2-1.800M7.8 16.200l2.2-1.8 2.2 1.8',
  coffee: 'M4 8h10v5a3.5 3.5 0 0 1-3.5 3.500h-3A3.5 3.5 0 0 1 4 13zM14 9.500h1.200a2 2 0 0 1 0 4H14M7 3.500c-.8 1 .8 1.5 0 2.500M11 3.500c-.8 1 .8 1.5 0 2.5',
  computer: 'M4.5 4.500h11v8h-11zM2.5 15.500h15l-1.8-3H4.300z',
  wifi: 'M2.5 8a11 11 0 0 1 15 0M5 10.800a7.3 7.3 0 0 1 10 0M7.5 13.400a3.7 3.7 0 0 1 5 0M10 16h.01',
  printer: 'M6 7V3.500h8V7M6 14H3.500V7h13v7H14M6 11.500h8v5H6z',
  daylight: 'M10 13.500a3.5 3.5 0 1 0 0-7 3.5 3.5 0 0 0 0 7zM10 2.500V4M10 16v1.500M2.5 10H4M16 10h1.500M4.7 4.700l1 1M14.3 14.300l1 1M15.3 4.700l-1 1M5.7 14.300l-1 1',
} as const

type Picture = keyof typeof pictures

/** The words for each, in the languages of the page. */
const words: Record<Picture, string> = {
  projector: 'projector, beamer, projektor, 投影仪, 投影机',
  screen: 'screen, display, tv, monitor, bildschirm, fernseher, 屏幕, 显示器, 电视',
  whiteboard: 'whiteboard, smartboard, blackboard, tafel, 白板',
  flipchart: 'flipchart, flip chart, 活动挂图',
  video: 'video, video conference, video conferencing, videoconference, camera, webcam, kamera, videokonferenz, 视频, 视频会议, 摄像头',
  phone: 'phone, telephone, conference phone, speakerphone, telefon, 电话',
  microphone: 'microphone, mic, mikrofon, 麦克风',
  speaker: 'speaker, audio, sound, lautsprecher, ton, 音响, 扬声器',
  wheelchair: 'wheelchair, wheelchair accessible, accessible, step free, barrier free, barrierefrei, rollstuhl, rollstuhlgerecht, 无障碍, 轮椅',
  air: 'air conditioning, air con, ac, klimaanlage, klima, 空调',
  coffee: 'coffee, coffee machine, kitchen, kaffee, kaffeemaschine, küche, 咖啡, 咖啡机',
  computer: 'computer, pc, laptop, rechner, 电脑',
  wifi: 'wifi, wi fi, wlan, 无线网络',
  printer: 'printer, drucker, 打印机',
  daylight: 'daylight, window, natural light, tageslicht, fenster, 自然光',
}

const byWord = new Map(Object.entries(words).flatMap(([picture, list]) => list.split(', ').map((word) => [word, picture as Picture])))

/** Returns the drawing of a feature; undefined if it is not a usual one. Numbers, case, hyphens and a plural do not matter: "2 Flip-Charts". */
export function pictureOf(feature: string): string | undefined {
  const word = feature
    .trim()
    .toLocaleLowerCase()
    .replace(/^\d+\s*[x×]?\s*/, '')
    .replace(/[-_\s]+/g, ' ')
  const picture = byWord.get(word) ?? byWord.get(word.replace(/s$/, ''))
  return picture && pictures[picture]
}
