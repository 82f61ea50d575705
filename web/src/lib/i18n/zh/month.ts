import type en from '../en/month'

const zh: typeof en = {
  overview: {
    label: '各会议室每日占用情况',
    room: '会议室',
    free: '空闲',
    none: '没有会议',
    meetings: (n) => `${n} 个会议`,
    cell: (meetings, time, share) => `${meetings}，共${time}，占用 ${share}`,
  },
  month: {
    title: '月',
    label: (month) => `${month}的会议室`,
    words: (meetings, share) => `${meetings}，占用 ${share}`,
    own: '我的会议',
    rest: (n) => `还有 ${n} 个`,
    previous: '上个月',
    next: '下个月',
  },
  calendar: {
    label: '日历',
    weeks: '周',
    week: (n) => `第 ${n} 周`,
    own: (n) => `我的 ${n} 个会议`,
    none: '没有我的会议',
    help: '方向键切换日期，Page Up 和 Page Down 切换月份。按住 Shift 并使用方向键可选择最多 7 天。按 Enter 显示。',
  },
  agenda: {
    label: '按日期列出的会议',
    group: '分组',
    byDay: '按日期',
    byRoom: '按会议室',
    none: '没有预订',
    noneText: '从这一天起，这些会议室没有预订。',
    end: '之后没有预订。',
    more: '显示更多',
    loaded: (n) => `已显示 ${n} 个会议`,
  },
}

export default zh
