import type { Dictionary } from '../en'

const texts: Pick<Dictionary, 'now' | 'find'> = {
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
    details: '详情',
  },
  find: {
    why: {
      favorite: '您的收藏',
      recent: (ago) => `上次使用：${ago}`,
      fits: (persons, seats) => `${seats}个座位，需要${persons}个`,
      has: (feature) => `有${feature}`,
      floor: (floor) => `同一楼层：${floor}`,
    },
  },
}

export default texts
