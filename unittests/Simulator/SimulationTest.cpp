//===- SimulationTest.cpp - discrete-event simulation ---------------------===//
//
// Part of the bppsa project, under the MIT License.
//
//===----------------------------------------------------------------------===//

#include "bppsa/Simulator/Simulation.h"
#include "bppsa/Simulator/Dispatch.h"
#include "gtest/gtest.h"
#include <algorithm>
#include <random>

using namespace bppsa::schedule;

/// Returns tasks of random durations on `resources` resources with random dependences on earlier
/// tasks.
static TaskGraph makeRandomGraph(std::mt19937 &random, int32_t tasks, int32_t resources) {
  auto draw = [&](int32_t end) { return static_cast<int32_t>(random() % end); };
  TaskGraph graph;
  for (TaskId task = 0; task < tasks; ++task) {
    graph.addTask(draw(resources), draw(5));
    for (int32_t i = draw(4); i > 0 && task > 0; --i)
      graph.addDependence(draw(task), task, draw(3));
  }
  return graph;
}

static void expectValid(const TaskGraph &graph, const Timeline &timeline) {
  for (TaskId task = 0; task < graph.getNumTasks(); ++task) {
    EXPECT_EQ(timeline.end[task], timeline.start[task] + graph.getDuration(task));
    for (const TaskGraph::Successor &next : graph.getSuccessors(task))
      EXPECT_GE(timeline.start[next.task], timeline.end[task] + next.lag);
  }
  std::vector<double> free(graph.getNumResources(), 0);
  for (TaskId task : timeline.order) {
    EXPECT_GE(timeline.start[task], free[graph.getResource(task)]);
    free[graph.getResource(task)] = timeline.end[task];
  }
  std::vector<double> work = getWork(graph);
  EXPECT_GE(timeline.makespan, *std::max_element(work.begin(), work.end()));
  EXPECT_GE(timeline.makespan, getCriticalPath(graph));
}

class RandomGraphTest : public testing::TestWithParam<int> {};

TEST_P(RandomGraphTest, RunsInALinearExtension) {
  std::mt19937 random(GetParam());
  TaskGraph graph = makeRandomGraph(random, 200, 5);
  QueueDispatch byPriority(graph);
  for (TaskId task = 0; task < graph.getNumTasks(); ++task) {
    byPriority.setPriority(task, random() % 3);
    byPriority.setQueue(task, static_cast<int32_t>(random() % 2));
  }
  Timeline timeline = simulate(graph, byPriority).value();
  expectValid(graph, timeline);

  std::vector<std::vector<TaskId>> lists(graph.getNumResources());
  for (TaskId task : timeline.order)
    lists[graph.getResource(task)].push_back(task);
  ListDispatch inOrder(lists);
  EXPECT_EQ(simulate(graph, inOrder).value().start, timeline.start);
}

INSTANTIATE_TEST_SUITE_P(Seeds, RandomGraphTest, testing::Range(0, 50));

/// Calculated by hand: tasks of 3 and 2 in parallel, the latter with a lag of 2.5, and a task after
/// both.
TEST(SimulationTest, FollowsDurationsAndLags) {
  TaskGraph graph;
  TaskId left = graph.addTask(0, 3), right = graph.addTask(1, 2), last = graph.addTask(0, 1);
  graph.addDependence(left, last);
  graph.addDependence(right, last, 2.5);
  QueueDispatch dispatch(graph);
  Timeline timeline = simulate(graph, dispatch).value();
  EXPECT_EQ(timeline.start[last], 4.5);
  EXPECT_EQ(timeline.makespan, 5.5);
  EXPECT_EQ(getCriticalPath(graph), 5.5);
  EXPECT_EQ(getWork(graph), (std::vector<double>{4, 2}));
}

TEST(SimulationTest, TakesTheMostUrgentReadyTaskAndNeverInterruptsIt) {
  TaskGraph graph;
  TaskId first = graph.addTask(0, 4), late = graph.addTask(0, 1), other = graph.addTask(0, 1);
  TaskId gate = graph.addTask(1, 2);
  graph.addDependence(gate, late);
  QueueDispatch dispatch(graph);
  dispatch.setPriority(first, 5);
  dispatch.setPriority(other, 7);
  dispatch.setPriority(late, 1);
  EXPECT_EQ(simulate(graph, dispatch).value().order,
            (std::vector<TaskId>{first, gate, late, other}));
}

TEST(SimulationTest, QueuesOfAResourceTakeTurns) {
  TaskGraph graph;
  for (int i = 0; i < 6; ++i)
    graph.addTask(0, 1);
  QueueDispatch dispatch(graph);
  for (TaskId task : {3, 4, 5})
    dispatch.setQueue(task, 1);
  EXPECT_EQ(simulate(graph, dispatch).value().order, (std::vector<TaskId>{0, 3, 1, 4, 2, 5}));
}

TEST(SimulationTest, CyclesNeverEnd) {
  TaskGraph graph;
  TaskId left = graph.addTask(0, 1), right = graph.addTask(0, 1);
  graph.addDependence(left, right);
  graph.addDependence(right, left);
  QueueDispatch dispatch(graph);
  EXPECT_FALSE(simulate(graph, dispatch));
}
