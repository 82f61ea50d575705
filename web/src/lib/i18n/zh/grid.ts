import type en from '../en/grid'

const zh: typeof en = {
  grid: {
    help: '用方向键在时间、会议和会议室之间移动。按住 Shift 和方向键可选择时间段。按回车键预订该时间段或打开会议。在您自己的会议上，M 键移动会议，E 键更改结束时间，S 键更改开始时间。按 Tab 键可前往会议室页面。',
    room: '会议室',
    rooms: (n) => `${n} 间会议室`,
    free: '空闲',
    past: '已过去',
    closed: '不开放',
    blackout: '不可用',
    blackoutOf: (reason) => `不可用：${reason}`,
    buffer: '缓冲时间',
    checkedIn: '已签到',
    checkInNow: '可以签到',
    asksToMove: '已申请变更',
    inPast: '该时间已过',
    taken: (title, range) => `已占用：${title}，${range}`,
    closedThen: '会议室在该时段不开放',
    tooShort: (least) => `至少 ${least}`,
    tooLong: (most) => `最多 ${most}`,
    extended: '会议已延长',
    requested: '等待审批',
    notYours: '只有组织者可以更改此会议。',
    moving: (title) => `正在移动“${title}”。请用方向键选择时间和会议室。`,
    ending: (title) => `正在更改“${title}”的结束时间。请使用左右方向键。`,
    starting: (title) => `正在更改“${title}”的开始时间。请使用左右方向键。`,
    howToDrop: '按回车键放下，按 Esc 键取消。',
    asItWas: '已取消，未做更改。',
    zoom: '小时宽度',
    zoomIn: '加宽小时',
    zoomOut: '收窄小时',
  },
}

export default zh
