import type { Dictionary } from '../en'

const texts: Pick<Dictionary, 'now' | 'find' | 'palette'> = {
  now: {
    button: '立即用房',
    choose: '选择会议室和时长',
    title: '立即预订会议室',
    meeting: (name) => `${name}的会议`,
    booked: (room, until) => `已预订${room}，至${until}`,
    isBooked: (room) => `已预订${room}`,
    until: (time) => `至${time}`,
    otherRoom: '其他会议室',
    none: '现在没有空闲的会议室。',
    soonest: '现在没有空闲的会议室。最近可用：',
    from: (time) => `${time}起`,
    details: '详情',
  },
  find: {
    title: '查找会议室',
    freeDates: (free, all) => `${all}个日期中有${free}个可用`,
    why: {
      favorite: '您的收藏',
      recent: (ago) => `上次使用：${ago}`,
      fits: (persons, seats) => `${seats}个座位，需要${persons}个`,
      has: (feature) => `有${feature}`,
      floor: (floor) => `同一楼层：${floor}`,
    },
  },
  palette: {
    title: '搜索或预订',
    open: '搜索或预订（Ctrl+K）',
    example: '图灵 明天10点到11点 每周 和Grace',
    understood: '已识别',
    assumed: '默认',
    results: '结果',
    nobody: (name) => `没有名为“${name}”的人`,
    people: (n) => `${n}人`,
    book: (room) => `预订${room}`,
    bookAt: (room, time) => `预订${room}，${time}`,
    request: (room) => `申请${room}`,
    resolve: (n, room) => `解决${room}的${n}个冲突`,
    booked: (room, time) => `已预订${room}：${time}`,
    details: '更多信息…',
    detailsHint: '打开预订表单',
    check: '检查来宾…',
    checkHint: '打开预订表单更正姓名',
    room: '会议室',
    page: '页面',
    hint: '用Tab或方向键选择，按回车确认。引号中的文字作为标题保持不变。时间为会议室当地时间。',
  },
}

export default texts
